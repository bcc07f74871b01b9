import { fileURLToPath } from 'node:url'

import { Client, Connection } from '@temporalio/client'
import { NativeConnection, Worker } from '@temporalio/worker'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import type { Death } from './worker/death.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'
import { caseOf } from './worker/model-script.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'
import { THEIR_QUEUE } from './worker/workflows-desk.js'

let fixture: Fixture
let fleet: Fleet
let client: Client
const closes: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  const address = inject('devServerAddress')
  const native = await NativeConnection.connect({ address })
  const theirs = await Worker.create({
    connection: native,
    taskQueue: THEIR_QUEUE,
    workflowsPath: fileURLToPath(new URL('../workflow/workflow-tools/their-workflows.ts', import.meta.url)),
  })
  const ended = theirs.run()
  const connection = Connection.lazy({ address })
  client = new Client({ connection })
  closes.push(
    async () => (theirs.shutdown(), ended),
    () => connection.close(),
    () => native.close(),
  )
  fixture = await createFixture({
    desk: 'workflows',
    answerer(messages) {
      const last = messages.at(-1)
      const name = /please (\S+)/.exec(JSON.stringify(last?.content))?.[1]
      if (last?.role !== 'user' || name === undefined) return { text: marked('Done') }
      return { toolCalls: [{ name, input: JSON.stringify({ orderId: caseOf(messages) }) }] }
    },
  })
  fleet = await startFleet(fixture)
})
afterAll(async () => {
  await fixture.close()
  for (const close of closes) await close()
})

const create = (id: string, tool: 'wait' | 'begin') =>
  fixture.create({ id, message: marked(`please ${tool} #${id}`) })

function theirWorkflow(id: string) {
  return client.workflow.getHandle(`${id}:call_1_1_0`)
}

async function finish(id: string): Promise<void> {
  await until('their workflow', () =>
    theirWorkflow(id)
      .signal('finish')
      .then(
        () => true,
        () => false,
      ),
  )
}

/** The Temporal runs that ever had the id. */
async function runsOf(workflowId: string): Promise<number> {
  return until('a listed workflow', async () => {
    const { count } = await client.workflow.count(`WorkflowId = '${workflowId}'`)
    return count > 0 ? count : undefined
  })
}

const begun = { operation: 'call_1_1_0', state: 'started', when: 'after its commit' } as const
const toStore = { operation: 'call_1_1_0_workflow', state: 'finished', when: 'before its commit' } as const
const stored = { operation: 'call_1_1_0_workflow', state: 'finished', when: 'after its commit' } as const
type At = Pick<Death, 'operation' | 'state' | 'when'> | 'while it waits'

test.for<readonly [string, At]>([
  ['before it has started its workflow', begun],
  ['while the call waits', 'while it waits'],
  ['before the outcome is stored', toStore],
  ['before the call is told of its outcome', stored],
])(
  'KP-03.5 a worker that is killed %s starts the workflow once, and the call gets the result',
  async ([, at], { task }) => {
    const id = `workflow-crash-wait-${task.id.replaceAll(/\W/g, '')}`
    if (at !== 'while it waits') fleet.dieAt({ threadId: id, of: 'thread', ...at })
    const thread = await create(id, 'wait')
    if (at === 'while it waits') {
      await until('a started workflow', () =>
        theirWorkflow(id)
          .describe()
          .then(Boolean, () => false),
      )
      await fleet.kill()
    }
    if (at === begun) await fleet.replaceDead()
    await finish(id)
    if (at !== begun) await fleet.replaceDead()
    await thread.waitUntilIdle({ timeout: '100 s' })
    expect(await toolResults(thread)).toMatchObject([
      { tool_status: 'success', content: JSON.stringify({ orderId: id, refunded: true }) },
    ])
    expect(await runsOf(`${id}:call_1_1_0`)).toBe(1)
    expect(await runsOf(`${id}:call_1_1_0:tool`)).toBe(1)
    await expectWholeLog(thread)
  },
)

test.for<readonly [string, At]>([
  ['before it has started its workflow', begun],
  ['while the workflow runs', 'while it waits'],
  ['before the outcome is stored', toStore],
  ['before the outcome is sent', stored],
])(
  'KP-03.5 a worker that is killed %s sends the result of a started workflow once',
  async ([, at], { task }) => {
    const id = `workflow-crash-begin-${task.id.replaceAll(/\W/g, '')}`
    if (at !== 'while it waits') fleet.dieAt({ threadId: id, of: 'thread', ...at })
    const thread = await create(id, 'begin')
    if (at === begun) await fleet.replaceDead()
    await thread.waitUntilIdle({ timeout: '100 s' })
    if (at === 'while it waits') await fleet.kill()
    await finish(id)
    if (at !== begun) await fleet.replaceDead()
    await until(
      'the answer to the message',
      async () => (await thread.snapshot()).lastRun?.runId === 'run_2',
      120_000,
    )
    const messages = (await wholeTranscript(thread)).filter((message) => message.id === 'call_1_1_0_workflow')
    expect(messages).toMatchObject([{ role: 'user', silent: true }])
    expect(messages[0]?.content).toContain(JSON.stringify({ orderId: id, refunded: true }))
    expect(await runsOf(`${id}:call_1_1_0`)).toBe(1)
    await expectWholeLog(thread)
  },
)

test('a workflow that an operator terminates is an error of the call', async () => {
  const id = 'workflow-crash-terminated'
  const thread = await create(id, 'wait')
  await until('a started workflow', () =>
    theirWorkflow(id)
      .describe()
      .then(Boolean, () => false),
  )
  await theirWorkflow(id).terminate()
  await thread.waitUntilIdle({ timeout: '100 s' })
  const call = await thread.toolCall('call_1_1_0')
  expect(call).toMatchObject({
    ...{ status: 'failed', errorCode: 'workflow_terminated', failure: { category: 'cancelled' } },
  })
})
