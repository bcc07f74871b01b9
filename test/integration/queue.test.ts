import { afterEach, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { MessageRejectedError, NoWorkerError } from '../../src/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import type { CarriedControl } from '../../src/thread/continue-as-new.js'
import { eachOf } from '../support/each-of.js'
import { recordedRuns } from '../support/histories.js'
import type { RecordedRun } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factTypes } from '../support/thread-facts.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

let fixture: Fixture
afterEach(() => fixture.close())

test('messages without a worker are delivered in order', async () => {
  fixture = await createFixture()
  const thread = await fixture.create({ id: 'queue-idle' })
  await send(thread, 1, 20)
  await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  await expectInOrder(thread)
  // One batch, one answer.
  expect(fixture.model.requests('queue-idle')).toHaveLength(1)
})

test('T3 what waits for a first task keeps its order', async () => {
  fixture = await createFixture()
  const thread = await fixture.create({ id: 'queue-order' })
  await thread.stop()
  await thread.continue()
  await thread.stop()
  await send(thread, 1, 1)
  await fixture.startWorker()
  // The message came last, so it clears the stop.
  expect(await thread.waitUntilIdle({ timeout: '100 s' })).toMatchObject({ status: 'idle' })
  expect((await wholeTranscript(thread)).map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test('SA-R-09.1 twenty messages survive a kill midway', async () => {
  fixture = await createFixture()
  const worker = await fixture.startWorker()
  const held = fixture.model.hold('queue-kill', 'middle')
  const thread = await fixture.create({ id: 'queue-kill' })
  await send(thread, 1, 1)
  await held.arrived
  await send(thread, 2, 10)
  await worker.kill()
  await send(thread, 11, 20)
  await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  await expectInOrder(thread)
})

test('SA-R-09.5 a queue survives eviction, kill and continue-as-new', async () => {
  fixture = await createFixture({ maxCachedWorkflows: 0 })
  const id = 'queue-evicted'
  const worker = await fixture.startWorker()
  // Every point where nothing is in flight continues as new, whatever waits in the queue.
  const limits = { heartbeatTimeout: 3_000, historyEvents: 0 }
  const held = fixture.model.hold(id, 'middle')
  const thread = await fixture.create({ id, limits })
  await send(thread, 1, 1)
  await held.arrived
  await send(thread, 2, 10)
  await worker.kill()
  await send(thread, 11, 15)
  await fixture.startWorker()
  await send(thread, 16, 20)
  await thread.waitUntilIdle({ timeout: '100 s' })
  await expectInOrder(thread)
  const runs = await recordedRuns(fixture.threads.temporal, id)
  // Of the state that each continuation took over: at least one had messages that wait.
  const waiting = runs.map(({ history }) => carriedItems(history.events?.[0]))
  expect(waiting.some((items) => items > 0)).toBe(true)
  expect((await fixture.search()).leaks).toEqual([])
})

test('T3 what is let in while a full queue is drained is delivered', async () => {
  fixture = await createFixture()
  const id = 'queue-full'
  await fixture.startWorker()
  const [first, second] = [fixture.model.hold(id, 'before'), fixture.model.hold(id, 'before', 2)]
  const thread = await fixture.create({ id, limits: {} })
  await send(thread, 1, 1)
  await first.arrived
  // An item of the workflow alone: the store does not count it.
  await thread.continue()
  const numbers = Array.from({ length: LIMITS.queuedItems }, (_, index) => index + 2)
  await eachOf(numbers, (number) => send(thread, number, number))
  await expect(send(thread, 0, 0)).rejects.toSatisfy(MessageRejectedError.isInstance)
  first.release()
  // The step has them, and the thread does not know it yet.
  await second.arrived
  const late = LIMITS.queuedItems + 2
  await send(thread, late, late + 1)
  second.release()
  await thread.waitUntilIdle({ timeout: '100 s' })
  const { messages } = await thread.messages({ limit: 5 })
  const contents = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(contents.slice(-2)).toEqual([text(thread, late), text(thread, late + 1)])
  expect(await factTypes(thread)).not.toContain('runtime.warning')
  expect((await thread.snapshot()).queue).toEqual([])
})

test('T3 what is let in for a message that was taken back is delivered, whenever a worker comes', async () => {
  fixture = await createFixture()
  const id = 'queue-taken-back'
  const worker = await fixture.startWorker()
  const held = fixture.model.hold(id, 'before')
  const thread = await fixture.create({ id, limits: { heartbeatTimeout: 3_000 } })
  await send(thread, 1, 1)
  await held.arrived
  const numbers = Array.from({ length: LIMITS.queuedItems - 1 }, (_, index) => index + 2)
  await eachOf(numbers, (number) => send(thread, number, number))
  const { messageId } = await thread.send(text(thread, 0))
  await worker.kill()
  await expect(thread.removeQueued(messageId)).rejects.toSatisfy(NoWorkerError.isInstance)
  const last = LIMITS.queuedItems + 1
  await send(thread, last, last)
  await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  const { messages } = await thread.messages({ limit: 5 })
  const sent = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(sent.at(-1)).toBe(text(thread, last))
  expect(sent).not.toContain(text(thread, 0))
  expect((await thread.snapshot()).queue).toEqual([])
  expect(await factTypes(thread)).not.toContain('runtime.warning')
})

async function send(thread: ThreadHandle, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number += 1) await thread.send(text(thread, number))
}

function text({ threadId }: ThreadHandle, number: number): string {
  return marked(`Message ${number} #${threadId}`)
}

async function expectInOrder(thread: ThreadHandle): Promise<void> {
  const rows = await wholeTranscript(thread)
  const sent = rows.filter(({ role }) => role === 'user').map(({ content }) => content)
  expect(sent).toEqual(Array.from({ length: 20 }, (_, index) => text(thread, index + 1)))
  expect(rows.at(-1)).toMatchObject({ role: 'assistant', status: 'completed' })
  await expectWholeLog(thread)
}

/** How many items of the queue a Temporal run started with. */
function carriedItems(started: NonNullable<RecordedRun['history']['events']>[number] | undefined): number {
  const [, payload] = started?.workflowExecutionStartedEventAttributes?.input?.payloads ?? []
  if (payload?.data == null) return 0
  return (JSON.parse(Buffer.from(payload.data).toString()) as CarriedControl).queue.length
}
