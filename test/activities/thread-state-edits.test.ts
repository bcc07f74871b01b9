import { describe, expect, test } from 'vitest'
import type { Message } from '../../src/index.js'
import { readEvents } from '../../src/store/events.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import type { Store } from '../../src/store/store.js'
import { withThread } from './buffered-call.js'

/** `m1` to `m4`, of which `m2` is silent, a row of the step in flight, and two queued ones. */
async function fillThread(store: Store): Promise<void> {
  await store.write(async (tx) => {
    const common = { threadId: 't', role: 'user', createdAt: 1, sentBy: 'client' } as const
    for (const id of ['m1', 'm2', 'm3', 'm4'])
      await appendMessage(tx, { ...common, id, content: id, silent: id === 'm2', metadata: { from: id } })
    await appendMessage(tx, { ...common, id: 'now', content: 'now', run: 1, step: 2 })
    for (const id of ['q1', 'q2']) await stageMessage(tx, { ...common, id, content: id, digest: id })
  })
}

const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => id)

async function eventsOf(store: Store) {
  const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 10 }))
  return events.map(({ type, scope }) => [type, scope.messageId])
}

describe('an update', () => {
  test('is seen by the call, then by all', () =>
    withThread(async ({ store, open, commit }) => {
      await fillThread(store)
      const call = await open()
      const updated = await call.state.updateMessage('m1', { content: 'new', metadata: { read: true } })
      expect(updated).toMatchObject({ content: 'new', metadata: { from: 'm1', read: true }, position: 1 })
      expect(await call.state.getMessage('m1')).toEqual(updated)
      expect((await call.state.getMessages()).messages[0]).toEqual(updated)
      expect(await store.read((db) => findMessage(db, 't', 'm1'))).toMatchObject({ content: 'm1' })
      await commit(call)
      expect(await store.read((db) => findMessage(db, 't', 'm1'))).toEqual(updated)
      expect(await eventsOf(store)).toEqual([['message.updated', 'm1']])
    }))

  test('that shows or hides a message changes the lists', () =>
    withThread(async ({ store, open }) => {
      await fillThread(store)
      const { state } = await open()
      await state.updateMessage('m2', { silent: false })
      await state.updateMessage('m4', { silent: true })
      const page = await state.getMessages()
      expect(idsOf(page.messages)).toEqual(['m1', 'm2', 'm3', 'now', 'q1', 'q2'])
      expect(page).toMatchObject({ total: 6, hasMore: false })
      const newest = await state.getMessages({ limit: 3, offset: 2, order: 'desc' })
      expect(idsOf(newest.messages)).toEqual(['now', 'm3', 'm2'])
      expect(newest).toMatchObject({ total: 6, hasMore: true })
    }))

  test('of a message that the call added is part of it', () =>
    withThread(async ({ store, open, commit }) => {
      const call = await open()
      const { id } = await call.state.injectMessage({ role: 'user', content: 'one' })
      await call.state.updateMessage(id, { content: 'two' })
      expect(await call.state.getMessage(id)).toMatchObject({ content: 'two' })
      await commit(call)
      expect(await store.read((db) => findMessage(db, 't', id))).toMatchObject({ content: 'two' })
      expect(await eventsOf(store)).toEqual([['message.created', id]])
    }))

  test('of the step in flight, of nothing, or with nothing is refused', () =>
    withThread(async ({ store, open }) => {
      await fillThread(store)
      const { state } = await open()
      await expect(state.updateMessage('now', { content: 'x' })).rejects.toThrow('the step in flight')
      await expect(state.updateMessage('m9', { content: 'x' })).rejects.toThrow('"m9", which is none')
      await expect(state.updateMessage('m1', { content: '' })).rejects.toThrow('to have text')
      await expect(state.updateMessage('m1', { metadata: 3 } as never)).rejects.toThrow('metadata')
    }))
})

describe('a delete', () => {
  test('takes a message out of the transcript', () =>
    withThread(async ({ store, open, commit }) => {
      await fillThread(store)
      const call = await open()
      expect(await call.state.deleteMessage('m3')).toBe(true)
      expect(await call.state.deleteMessage('m3')).toBe(false)
      expect(await call.state.getMessage('m3')).toBeNull()
      expect(idsOf((await call.state.getMessages({ limit: 4 })).messages)).toEqual(['m4', 'now', 'q1', 'q2'])
      expect(await store.read((db) => findMessage(db, 't', 'm3'))).not.toBeNull()
      expect((await commit(call)).operations).toEqual([])
      expect(await store.read((db) => findMessage(db, 't', 'm3'))).toBeNull()
      expect(await eventsOf(store)).toEqual([['message.deleted', 'm3']])
    }))

  test('takes a queued message back, and the workflow learns it', () =>
    withThread(async ({ store, open, commit }) => {
      await fillThread(store)
      const call = await open()
      expect(await call.state.deleteMessage('q1')).toBe(true)
      expect(idsOf((await call.state.getMessages()).messages)).not.toContain('q1')
      expect((await commit(call)).operations).toEqual([{ kind: 'remove_queued', id: 'q1' }])
      expect(await store.read((db) => findMessage(db, 't', 'q1'))).toMatchObject({ status: 'removed' })
    }))

  test('of what the call added leaves nothing of it', () =>
    withThread(async ({ open, commit }) => {
      const call = await open()
      const { id } = await call.state.injectMessage({ role: 'user', content: 'one' })
      await call.state.queueMessage({ role: 'user', content: 'two' })
      const queued = idsOf((await call.state.getMessages()).messages).find((one) => one !== id) ?? ''
      expect(await call.state.deleteMessage(id)).toBe(true)
      expect(await call.state.deleteMessage(queued)).toBe(true)
      expect(await call.state.getMessages()).toMatchObject({ messages: [], total: 0 })
      expect((await commit(call)).operations).toEqual([])
    }))

  test('of the step in flight is refused, of nothing is false', () =>
    withThread(async ({ store, open }) => {
      await fillThread(store)
      const { state } = await open()
      await expect(state.deleteMessage('now')).rejects.toThrow('the step in flight')
      expect(await state.deleteMessage('m9')).toBe(false)
    }))
})

describe('lists', () => {
  test('K-11 order is that of the answer, whichever messages are in it', () =>
    withThread(async ({ store, open }) => {
      await fillThread(store)
      const { state } = await open()
      const newest = await state.getMessages({ limit: 3 })
      const backwards = await state.getMessages({ limit: 3, order: 'desc' })
      const shouted = await state.getMessages({ limit: 3, order: 'DESC' as never })
      expect(idsOf(shouted.messages)).toEqual(idsOf(backwards.messages))
      await expect(state.getMessages({ order: 'up' as never })).rejects.toThrow('"asc" or "desc", got up')
      expect(idsOf(newest.messages)).toEqual(['now', 'q1', 'q2'])
      expect(idsOf(backwards.messages)).toEqual(['q2', 'q1', 'now'])
    }))
})
