import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { SIGNALS } from '../../src/protocol/messages.js'
import { openStore } from '../../src/store/open-store.js'
import { requestTermination } from '../../src/store/threads/threads.js'
import { activityEvents, recordedRuns } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog } from './worker/whole-thread.js'

let fixture: Fixture

beforeAll(async () => {
  fixture = await createFixture()
  await fixture.startWorker()
})
afterAll(() => fixture.close())

/** It is heard in milliseconds, and by a heartbeat after 24 seconds; the rest is for a machine that tests keep busy. */
const STOP_WITHIN = 10_000

test('PL-CX.6 PL-CX.7 a stop closes the connection to the provider', async () => {
  const id = 'stop-stream'
  const held = fixture.model.hold(id, 'middle')
  // The usual heartbeat timeout, which alone would let a stop wait for 24 seconds.
  const thread = await fixture.create({ id, limits: {}, message: marked(`Tell me a lot. #${id}`) })
  await held.arrived
  const partial = await streamed(thread)
  const stopped = Date.now()
  await thread.stop()
  await held.left
  expect(Date.now() - stopped).toBeLessThan(STOP_WITHIN)
  const result = await thread.waitUntilIdle()
  expect(result).toMatchObject({ status: 'stopped', reason: 'stopped' })
  expect(await transcript(thread)).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: partial, status: 'interrupted' },
  ])
  await expectWholeLog(thread)
  await thread.send(marked(`And now? #${id}`))
  expect((await thread.waitUntilIdle()).reply?.content).toBe(marked(`Gladly, #${id}, and many words more.`))
})

test.each([
  ['a signal of the Temporal CLI', (thread: ThreadHandle) => thread.workflow.signal(SIGNALS.stop), 'stopped'],
  ['a cancellation in the Temporal UI', (thread: ThreadHandle) => thread.workflow.cancel(), 'terminated'],
] as const)('PL-CX.6 %s closes the connection to the provider in time', async (by, stop, status) => {
  const id = `stop-by-${by.split(' ')[1]}`
  const held = fixture.model.hold(id, 'middle')
  const thread = await fixture.create({ id, limits: {}, message: marked(`Tell me a lot. #${id}`) })
  await held.arrived
  const stopped = Date.now()
  await stop(thread)
  await held.left
  expect(Date.now() - stopped).toBeLessThan(STOP_WITHIN)
  expect((await thread.waitUntilIdle()).status).toBe(status)
  await expectWholeLog(thread)
})

test('a call that ends within a third of the heartbeat timeout sends no heartbeat', async () => {
  const id = 'no-heartbeat'
  const held = fixture.model.hold(id, 'middle')
  const thread = await fixture.create({ id, limits: {}, message: marked(`Tell me a lot. #${id}`) })
  await held.arrived
  await setTimeout(3_000)
  const { raw } = await thread.workflow.describe()
  expect(raw.pendingActivities).toHaveLength(1)
  expect(raw.pendingActivities?.[0]?.lastHeartbeatTime ?? null).toBeNull()
  held.release()
  await thread.waitUntilIdle()
})

// On a real server: the time-skipping one refuses the task that cancels what has just ended, and never gives it again.
test('a stop that meets the end of a call holds up nothing', async () => {
  for (let pause = 0; pause < 40; pause += 4) {
    const id = `stop-meets-${pause}`
    const held = fixture.model.hold(id, 'middle')
    const thread = await fixture.create({ id, message: marked(`Tell me a lot. #${id}`) })
    await held.arrived
    held.release()
    // Nothing is awaited: the stop comes before, at or after the end of the activity.
    await setTimeout(pause)
    await thread.stop()
    const { reason } = await thread.waitUntilIdle({ timeout: '100 s' })
    expect(['stopped', 'stop_on_response']).toContain(reason)
    await thread.send(marked(`And now? #${id}`))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked(`Gladly, #${id}, and many words more.`))
    await expectWholeLog(thread)
  }
})

test('PL-CX.6 PL-CX.7 a stop aborts a running tool and keeps the thread', async () => {
  const { thread, id } = await threadInTool('stop-tool')
  await thread.stop()
  await thread.waitUntilIdle()
  await until('the abort', async () => (await fixture.effects(id)).length === 2)
  expect(await fixture.effects(id)).toMatchObject([{ did: 'acted' }, { did: 'aborted' }])
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error', content: /interrupted/ }])
  await thread.send(marked(`please charge #${id}`))
  expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
  await expectWholeLog(thread)
})

test('SA-R-10.0 terminate closes softly with a tool in flight', async () => {
  const { thread, id } = await threadInTool('terminate-tool')
  expect((await thread.snapshot()).terminated).toBeNull()
  await thread.terminate({ reason: 'enough' })
  const result = await thread.waitUntilIdle()
  expect(result).toMatchObject({ status: 'terminated', reason: 'terminated' })
  await until('the close', async () => (await thread.workflow.describe()).status.name === 'CANCELLED')
  expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error', content: /cancelled/ }])
  const last = ['step.completed', 'side.completed', 'run.cancelled', 'thread.closed']
  expect((await factTypes(thread)).slice(-4)).toEqual(last)
  expect(fixture.model.requests(id)).toHaveLength(1)
})

test('SA-R-10.1 the time of termination outlives the workflow', async () => {
  const { thread } = await threadInTool('terminate-time')
  expect((await thread.snapshot()).terminated).toBeNull()
  const before = Date.now() * 1000
  await thread.terminate()
  await thread.waitUntilIdle()
  const { terminated, stale, status } = await thread.snapshot()
  expect(terminated).toBeGreaterThanOrEqual(before)
  expect({ stale, status }).toEqual({ stale: true, status: 'terminated' })
})

test('SA-R-10.2 terminate aborts the work in flight', async () => {
  const { thread, id } = await threadInTool('terminate-abort')
  await thread.terminate()
  await thread.waitUntilIdle()
  await until('the abort', async () => (await fixture.effects(id)).length === 2)
  expect(await fixture.effects(id)).toMatchObject([{ did: 'acted' }, { did: 'aborted' }])
  const cancelled = activityEvents(await recordedRuns(fixture.threads.temporal, id))
  expect(cancelled).toContainEqual({ kind: 'cancel_requested', activity: 'thread.executeTool' })

  const held = fixture.model.hold('terminate-stream', 'middle')
  const streaming = await fixture.create({
    id: 'terminate-stream',
    message: marked('Hello #terminate-stream'),
  })
  await held.arrived
  await streamed(streaming)
  await streaming.terminate()
  await held.left
  await streaming.waitUntilIdle()
  const events = activityEvents(await recordedRuns(fixture.threads.temporal, 'terminate-stream'))
  expect(events).toContainEqual({ kind: 'cancel_requested', activity: 'thread.callModel' })
})

test('SA-R-10.3 a terminated thread refuses all, also without history', async () => {
  const { thread, id } = await threadInTool('terminate-late')
  await thread.terminate()
  await expectRefusals(thread)
  await thread.waitUntilIdle()
  const rows = await transcript(thread)
  await expectRefusals(thread)
  await deleteHistory(thread)
  await expectRefusals(thread)
  expect(await transcript(thread)).toEqual(rows)
  expect(fixture.model.requests(id)).toHaveLength(1)
})

test('T8 a thread ends with its run when whoever asked for its end died before telling it', async () => {
  const { thread, id: threadId } = await threadInTool('terminate-unsaid')
  const store = await openStore(fixture.store)
  try {
    await store.write((tx) => requestTermination(tx, { threadId, reason: null, now: Date.now() * 1000 }))
  } finally {
    await store.close()
  }
  // It cuts the call, which nobody hears then.
  await thread.workflow.signal(SIGNALS.stop)
  expect((await thread.waitUntilIdle()).status).toBe('terminated')
  await until('its close', async () => (await factTypes(thread)).includes('thread.closed'))
})

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})

async function threadInTool(id: string): Promise<{ readonly thread: ThreadHandle; readonly id: string }> {
  const thread = await fixture.create({ id, message: marked(`please book and hold #${id}`) })
  await until('a running tool', async () => (await fixture.effects(id)).length === 1)
  return { thread, id }
}

/** The text that a subscriber has seen, once the whole content of the held answer is there. */
async function streamed(thread: ThreadHandle): Promise<string> {
  let text = ''
  for await (const event of thread.events()) {
    if (event.type === 'model.delta') text += event.payload.text
    if (text.endsWith(marked('more.'))) return text
  }
  throw new Error('Expected the text of a held answer, got the end of the thread.')
}

async function expectRefusals(thread: ThreadHandle): Promise<void> {
  const { threadId: id } = thread
  const refused = { code: 'thread_terminated', status: 'terminated' }
  await expect(thread.send(marked('Late'))).rejects.toMatchObject(refused)
  await expect(thread.continue()).rejects.toMatchObject(refused)
  const message = { id: 'late', content: marked('Late') }
  await expect(fixture.create({ id, message })).rejects.toMatchObject(refused)
}

/** What retention does in the end; the server does it a moment after it was asked. */
async function deleteHistory(thread: ThreadHandle): Promise<void> {
  const { workflowService, options } = fixture.threads.temporal
  const workflowExecution = { workflowId: thread.threadId }
  await workflowService.deleteWorkflowExecution({ namespace: options.namespace, workflowExecution })
  const name = (): Promise<string> =>
    thread.workflow.describe().then(
      ({ status }) => status.name,
      (error: Error) => error.name,
    )
  await until('the end of the history', async () => (await name()) === 'WorkflowNotFoundError')
}
