import { randomUUID } from 'node:crypto'

import type { Payload } from '@temporalio/common'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { recordedRuns, searchFor } from '../support/histories.js'
import type { RecordedRun } from '../support/histories.js'
import { transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createEncryptingCodec, isEncrypted } from './plugin/encrypting-codec.js'
import { openShop } from './plugin/shop.js'
import type { Shop } from './plugin/shop.js'

const codec = createEncryptingCodec()
let shop: Shop
beforeAll(async () => {
  shop = await openShop({ dataConverter: { payloadCodecs: [codec] } })
})
afterAll(() => shop.close())

const refund = { toolCalls: [{ name: 'refund_order', args: { orderId: 'E-1', euros: 40 } }] }

test("a user's encrypting codec leaves nothing in plain sight", async () => {
  shop.voice.says(refund, { text: 'Done.' })
  const order = `E-${randomUUID()}`
  const [taskQueue, workflowId] = [shop.taskQueue, randomUUID()]
  const answer = shop.client.workflow.execute('reviewComplaint', { taskQueue, workflowId, args: [order] })
  expect(await answer).toBe('Done.')
  const threadId = `complaint-${order}`
  const runs = [
    ...(await recordedRuns(shop.client, threadId)),
    ...(await recordedRuns(shop.client, workflowId)),
  ]
  const payloads = runs.flatMap(payloadsOf)
  expect(payloads.length).toBeGreaterThan(10)
  expect(payloads.filter((payload) => !isEncrypted(payload))).toEqual([])
  expect(searchFor('was damaged', runs).leaks).toEqual([])
  const thread = shop.threads.get(threadId)
  expect((await transcript(thread)).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
  ])
})

test('snapshot, answer and stop go through the codec', async () => {
  shop.voice.says({ text: 'Good day.' })
  const thread = await shop.threads.create({ agent: 'complaints', id: randomUUID(), message: 'Hello' })
  await thread.waitUntilIdle()
  expect(await thread.snapshot()).toMatchObject({ status: 'idle', stale: false })
  await thread.stop()
  await expect(thread.respond('nothing', { approved: true })).rejects.toThrow('nothing')
  await thread.terminate()
  await until('the end', async () => (await thread.snapshot()).status === 'terminated')
})

test('T3 a codec that fails loses nothing that was accepted', async () => {
  const thread = await shop.threads.create({ agent: 'complaints', id: randomUUID() })
  await thread.waitUntilIdle()
  shop.voice.says({ text: 'Both are here.' })
  codec.broken = true
  await thread.send('First')
  await thread.send('Second')
  await until('two failures', () => codec.failures > 1)
  codec.broken = false
  // The server waits ever longer between two attempts at a task.
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect((await transcript(thread)).map(({ content }) => content)).toEqual([
    'First',
    'Second',
    'Both are here.',
  ])
  const runs = await recordedRuns(shop.client, thread.threadId)
  expect(eventsOf(runs).some((event) => event.workflowTaskFailedEventAttributes != null)).toBe(true)
})

type HistoryEvent = NonNullable<RecordedRun['history']['events']>[number]

function eventsOf(runs: readonly RecordedRun[]): readonly HistoryEvent[] {
  return runs.flatMap(({ history }) => history.events ?? [])
}

/** Everything that looks like a payload, wherever it is; search attributes are indexed, so no codec touches them. */
function payloadsOf({ history }: RecordedRun): readonly Payload[] {
  const found: Payload[] = []
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
    if ('metadata' in value && 'data' in value && value.metadata !== null) found.push(value as Payload)
    for (const [name, inner] of Object.entries(value)) if (name !== 'searchAttributes') look(inner)
  }
  for (const event of history.events ?? []) look(event)
  return found
}
