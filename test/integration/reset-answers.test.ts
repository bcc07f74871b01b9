import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { marked } from '../support/marker.js'
import { resetWorkflow } from '../support/reset-workflow.js'
import { testEnvironment } from '../support/test-store.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import { until } from '../support/until.js'
import { workflowDesk } from '../support/workflow-desk.js'
import type { WorkflowDesk } from '../support/workflow-desk.js'

const scripts = createThreadScripts()
let env: TestEnvironment<WorkflowDesk>

beforeAll(async () => {
  const { models, tools } = scripts
  env = await testEnvironment({ registry: workflowDesk, models, tools, server: 'dev' })
})
afterAll(() => env.close())

test('T3 T4 an answer that a reset gave back too early is told again, and its call runs once', async () => {
  const id = `reset-answers-${randomUUID()}`
  let runs = 0
  scripts.script(id, {
    chat: [{ toolCalls: [{ name: 'guarded', args: { task: marked('large') } }] }, { text: marked('Done') }],
    tools: {
      guarded: () => {
        runs += 1
        return { status: 'success', result: marked('Allowed') }
      },
    },
  })
  const thread = await env.threads.create({ agent: 'manager', id, message: marked('Hello') })
  expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
  const [request] = (await thread.snapshot()).pending
  await thread.respond(request?.id ?? '', { approved: true })
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: marked('Done') } })

  // The answer comes back with the result of the activity that asked for it: the workflow knows of no request yet.
  await resetWorkflow(thread.workflow, ACTIVITIES.executeTool)
  await until('the request again', async () =>
    (await thread.snapshot()).pending.some(({ id }) => id === request?.id),
  )
  await thread.respond(request?.id ?? '', { approved: true })
  await until('a thread at rest', async () => (await thread.snapshot()).status === 'idle')
  expect(runs).toBe(1)
  const { messages } = await thread.messages()
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
})
