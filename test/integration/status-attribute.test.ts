import { randomUUID } from 'node:crypto'
import { defaultPayloadConverter } from '@temporalio/common'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { ThreadClientOptions } from '../../src/client/index.js'
import { ConfigError } from '../../src/protocol/errors.js'
import { createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { recordedRuns } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { makePlace } from '../support/test-store.js'
import type { TestPlace } from '../support/test-store.js'
import { createThreadScripts } from '../support/thread-scripts.js'
import { workflowDesk } from '../support/workflow-desk.js'
import type { WorkflowDesk } from '../support/workflow-desk.js'

const scripts = createThreadScripts()
let env: TestEnvironment<WorkflowDesk>
let store: TestPlace

beforeAll(async () => {
  const { models, tools } = scripts
  store = await makePlace()
  env = await createTestEnvironment({
    registry: workflowDesk,
    models,
    tools,
    server: 'dev',
    store: store.place,
  })
})
afterAll(() => env.close().then(store.remove))

/** A thread that answers, waits for a person, goes on, and answers a second message. */
async function live(statusAttribute?: ThreadClientOptions['statusAttribute']): Promise<readonly unknown[]> {
  const id = `status-${randomUUID()}`
  scripts.script(id, {
    chat: [
      { toolCalls: [{ name: 'guarded', args: { task: marked('large') } }] },
      { text: marked('Done') },
      { text: marked('And again') },
    ],
    tools: { guarded: () => ({ status: 'success', result: marked('Allowed') }) },
  })
  const threads = new ThreadClient({
    client: env.threads.temporal,
    taskQueue: env.taskQueue,
    store: store.place,
    ...(statusAttribute !== undefined && { statusAttribute }),
  })
  try {
    const thread = await threads.create({ agent: 'manager', id, message: marked('Hello') })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { approved: true })
    await thread.waitUntilIdle()
    await thread.send(marked('Once more'))
    await thread.waitUntilIdle()
    return await statuses(id)
  } finally {
    await threads.close()
  }
}

/** The values of `ThreadStatus` in the order of the history; other attributes are set by the start alone. */
async function statuses(threadId: string): Promise<readonly unknown[]> {
  const runs = await recordedRuns(env.threads.temporal, threadId)
  const events = runs.flatMap(({ history }) => history.events ?? [])
  return events.flatMap(({ upsertWorkflowSearchAttributesEventAttributes: upserted }) => {
    const fields = upserted?.searchAttributes?.indexedFields
    if (fields == null) return []
    expect(Object.keys(fields)).toEqual(['ThreadStatus'])
    const status = fields['ThreadStatus']
    return status == null ? [null] : [defaultPayloadConverter.fromPayload<unknown>(status)]
  })
}

test('by default a turn sets no status, and a wait for a person one that is removed with the answer', async () => {
  expect(await live()).toEqual([['waiting_permission'], [], ['idle']])
})

test('a client can have the work of its threads shown', async () => {
  const turn = [['running'], ['idle']]
  expect(await live('always')).toEqual([['running'], ['waiting_permission'], ...turn, ...turn])
})

test('a client can have no status shown', async () => {
  expect(await live('never')).toEqual([])
})

test('another word is refused by name', () => {
  const statusAttribute = 'sometimes' as 'never'
  expect(() => new ThreadClient({ statusAttribute })).toThrow(ConfigError)
  expect(() => new ThreadClient({ statusAttribute })).toThrow(
    'Expected statusAttribute to be one of at_rest, always, never, got "sometimes".',
  )
})
