import { afterEach, beforeEach, expect, test } from 'vitest'
import { answerRequest } from '../../src/store/calls/requests.js'
import { stageQueuedTool } from '../../src/store/messages/queued-tools.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { collect, createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'
import { askRequest } from './request-rows.js'

let fixture: ClientFixture

beforeEach(async () => {
  fixture = await createClientFixture()
})
afterEach(() => fixture.close())

test('open requests of all threads are listed, oldest first', async () => {
  await addThread('a', { agent: 'support', user_id: 'ann' })
  await addThread('b', { agent: 'billing', user_id: 'ben' })
  await askRequest(fixture.store, { thread: 'b', requested_at: 7_000, kind: 'call', id: 'call_1_1_0' })
  await askRequest(fixture.store, { thread: 'a', requested_at: 6_000 })
  const detail = { agent: 'support', required: ['A', 'B'], missing: ['B'] }
  const variables = { id: 'v', kind: 'variables', args: null, detail } as const
  await askRequest(fixture.store, { thread: 'a', requested_at: 8_000, ...variables })
  const refund = { toolName: 'refund_order', args: { orderId: 'A-17' } }
  expect(await collect(fixture.threads.pending())).toEqual([
    {
      ...{ threadId: 'a', id: 'approval_call_1_1_0', kind: 'approval', ...refund, requestedAt: 6_000 },
      ...{ toolCallId: 'call_1_1_0', action: 'tool' },
      answers: ['approve', 'deny', 'remember', 'arguments', 'result'],
    },
    { threadId: 'b', id: 'call_1_1_0', kind: 'call', ...refund, requestedAt: 7_000 },
    { threadId: 'a', id: 'v', kind: 'variables', ...detail, requestedAt: 8_000 },
  ])
  expect(await idsOf({ agent: 'billing' })).toEqual(['call_1_1_0'])
  expect(await idsOf({ userId: 'ann' })).toEqual(['approval_call_1_1_0', 'v'])
  expect(await idsOf({ agent: 'billing', userId: 'ann' })).toEqual([])
})

test('open requests of a tree are listed by its root', async () => {
  await addThread('top')
  await addThread('child', { agent: 'kid', parent_thread_id: 'top', root_thread_id: 'top' })
  await addThread('grandchild', { agent: 'kid', parent_thread_id: 'child', root_thread_id: 'top' })
  await addThread('other', { agent: 'kid' })
  for (const thread of ['top', 'grandchild', 'other']) await askRequest(fixture.store, { thread })
  const listed = await collect(fixture.threads.pending({ root: 'top' }))
  expect(listed.map(({ threadId }) => threadId)).toEqual(['grandchild', 'top'])
  expect(await collect(fixture.threads.pending({ root: 'top', agent: 'support' }))).toHaveLength(1)
})

test('only what can be answered is listed', async () => {
  await addThread('answered')
  await addThread('closed', { closed_at: 5 })
  await addThread('terminated', { terminate_requested_at: 5 })
  for (const thread of ['answered', 'closed', 'terminated']) await askRequest(fixture.store, { thread })
  const id = 'approval_call_1_1_0'
  expect(await idsOf()).toEqual([id])
  await fixture.store.write((tx) => answerRequest(tx, { threadId: 'answered', id, approved: true, now: 9 }))
  expect(await idsOf()).toEqual([])
})

test('arguments that are no JSON are left out', async () => {
  await addThread('a')
  await askRequest(fixture.store, { thread: 'a', kind: 'call', args: '{"orderId":' })
  const [request] = await collect(fixture.threads.pending())
  expect(request).not.toHaveProperty('args')
})

test('more than a page comes without a gap', async () => {
  await addThread('a')
  const ids = Array.from({ length: 250 }, (_, index) => `v${String(index).padStart(3, '0')}`)
  for (const id of ids) await askRequest(fixture.store, { thread: 'a', kind: 'variables', id, args: null })
  expect(await idsOf()).toEqual(ids)
  const first = await fixture.threads.pendingPage({}, { limit: 200 })
  const last = await fixture.threads.pendingPage({}, { cursor: first.next ?? '' })
  expect([...first.requests, ...last.requests].map(({ id }) => id)).toEqual(ids)
  expect(last.next).toBeNull()
})

test('requests of one account and of one thread are listed apart', async () => {
  for (const account of ['acme', 'globex']) {
    await addThread(account, { account })
    await askRequest(fixture.store, { thread: account, kind: 'variables', id: `of-${account}`, args: null })
  }
  expect(await idsOf({ account: 'acme' })).toEqual(['of-acme'])
  expect(await idsOf({ threadId: 'globex' })).toEqual(['of-globex'])
})

test('the recorded snapshot holds requests, effects and tools', async () => {
  await addThread('a')
  const id = await askRequest(fixture.store, { thread: 'a' })
  const effect = { thread_id: 'a', name: 'ask_again', args: { topic: 'x' }, created_at: 1 }
  await fixture.store.write(async (tx) => {
    await insertEffect(tx, { ...effect, id: 'later', due_at: 90 })
    await insertEffect(tx, { ...effect, id: 'sooner', due_at: 80 })
    const tool = { threadId: 'a', toolCallId: 'queued_1', name: 'look', args: {} }
    await stageQueuedTool(tx, { ...tool, sentBy: 'client', now: 6 })
  })
  expect(await fixture.threads.get('a').snapshot()).toMatchObject({
    stale: true,
    pending: [{ id, kind: 'approval', toolName: 'refund_order', args: { orderId: 'A-17' } }],
    effects: [
      { id: 'sooner', name: 'ask_again', scheduledAt: 80, createdAt: 1 },
      { id: 'later', name: 'ask_again', scheduledAt: 90, createdAt: 1 },
    ],
    queue: [{ id: 'queued_1', kind: 'tool', queuedAt: 6, preview: 'look {}' }],
  })
})

async function idsOf(
  filter?: Parameters<ClientFixture['threads']['pending']>[0],
): Promise<readonly string[]> {
  return (await collect(fixture.threads.pending(filter))).map(({ id }) => id)
}

async function addThread(id: string, row: Partial<Parameters<typeof insertThread>[1]> = {}): Promise<void> {
  await fixture.store.write((tx) => insertThread(tx, { id, agent: 'support', created_at: 1, ...row }))
}
