import { expect, test } from 'vitest'
import { findToolCall } from '../../../src/store/calls/tool-calls.js'
import { readEvents } from '../../../src/store/events.js'
import { deliverMessages } from '../../../src/store/messages/delivery.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import { queuedFate, removeAllQueued, removeQueuedItem } from '../../../src/store/messages/queue.js'
import { placeQueuedTool, stageQueuedTool } from '../../../src/store/messages/queued-tools.js'
import { findMessage } from '../../../src/store/messages/transcript.js'
import { insertOperation } from '../../../src/store/operations.js'
import type { Store } from '../../../src/store/store.js'
import { findEffect, insertEffect } from '../../../src/store/threads/effects.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const remove = (store: Store, id: string, threadId = 't') =>
  store.write((tx) => removeQueuedItem(tx, { threadId, id, now: NOW }))

/** What waits and is taken back (T3). */
export function removalConformance(withStore: WithStore): void {
  test(
    'T3 a removed message is never delivered, and says so',
    withStore(async (store) => {
      await makeThread(store, 't')
      for (const id of ['m', 'n']) await stage(store, id)
      expect([await remove(store, 'm'), await remove(store, 'm')]).toEqual(['removed', 'before'])
      const delivered = await store.write((tx) =>
        deliverMessages(tx, { threadId: 't', ids: ['m', 'n'], run: 1, step: 1 }),
      )
      expect(delivered.messages.map(({ id }) => id)).toEqual(['n'])
      expect(await store.read((db) => findMessage(db, 't', 'm'))).toMatchObject({ status: 'removed' })
      expect(await remove(store, 'n')).toBe('begun')
      const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 9 }))
      expect(events).toMatchObject([
        { type: 'message.ended', scope: { messageId: 'm' }, payload: { end: 'removed' } },
        { type: 'queue.changed', payload: { waiting: 1 } },
      ])
    }),
  )

  test(
    'T4 a removed tool is over before it began',
    withStore(async (store) => {
      await makeThread(store, 't')
      for (const id of ['c', 'd']) await stageTool(store, id)
      expect([await remove(store, 'c'), await remove(store, 'c')]).toEqual(['removed', 'before'])
      const call = await store.read((db) => findToolCall(db, 't', 'c'))
      expect(call).toMatchObject({ status: 'cancelled', error_code: 'removed' })
      await store.write(async (tx) => {
        const placed = await findToolCall(tx, 't', 'd')
        if (placed !== null) await placeQueuedTool(tx, placed, { run: 1, step: 1, side: 'a', now: NOW })
      })
      expect(await remove(store, 'd')).toBe('begun')
      // The id keeps its meaning.
      expect(await stageTool(store, 'c')).toBe('same')
    }),
  )

  test(
    'AR-CP.2 all that waits is removed at once, but for reports, and one event names it',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'other')
      for (const id of ['m', 'n']) await stage(store, id)
      await stageTool(store, 'c')
      await stage(store, 'r', 'child')
      const fate = (id: string, threadId = 't') => store.read((db) => queuedFate(db, threadId, id))
      expect([await fate('n'), await fate('c'), await fate('r')]).toEqual(['waiting', 'waiting', 'owed'])
      const clear = (threadId: string) => store.write((tx) => removeAllQueued(tx, { threadId, now: NOW }))
      expect(await clear('other')).toEqual([])
      expect(await clear('t')).toEqual(['m', 'n', 'c'])
      expect(await clear('t')).toEqual([])
      expect([await fate('n'), await fate('c'), await fate('x')]).toEqual(['before', 'before', 'unknown'])
      const call = await store.read((db) => findToolCall(db, 't', 'c'))
      expect(call).toMatchObject({ status: 'cancelled', error_code: 'removed' })
      const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 9 }))
      const ended = { type: 'message.ended', payload: { end: 'removed' } }
      expect(events).toMatchObject([
        ...[
          { ...ended, scope: { messageId: 'm' } },
          { ...ended, scope: { messageId: 'n' } },
        ],
        { ...ended, scope: { toolCallId: 'c' } },
        { type: 'queue.changed', payload: { waiting: 1, removed: ['m', 'n', 'c'] } },
      ])
    }),
  )

  test(
    'an effect is removed until it is at work',
    withStore(async (store) => {
      await makeThread(store, 't')
      const effect = { thread_id: 't', name: 'remind', args: {}, due_at: NOW, created_at: NOW }
      for (const id of ['e', 'f']) await store.write((tx) => insertEffect(tx, { ...effect, id }))
      expect([await remove(store, 'e'), await remove(store, 'e')]).toEqual(['removed', 'before'])
      expect(await store.read((db) => findEffect(db, 't', 'e'))).toMatchObject({ status: 'removed' })
      const at = { kind: 'effect', state: 'started', attempt: 1, started_at: NOW } as const
      await store.write((tx) => insertOperation(tx, { thread_id: 't', id: 'f', ...at }))
      expect(await remove(store, 'f')).toBe('begun')
      const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 9 }))
      expect(events.map(({ type }) => type)).toEqual(['effect.removed', 'queue.changed'])
    }),
  )

  test(
    'reports, and what other threads have, stay',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'other')
      await stage(store, 'm')
      await stage(store, 'r', 'child')
      expect(await remove(store, 'm', 'other')).toBe('unknown')
      expect(await remove(store, 'r')).toBe('owed')
      expect(await remove(store, 'nothing')).toBe('unknown')
    }),
  )
}

async function stage(store: Store, id: string, subagentId?: string): Promise<void> {
  const message = { id, threadId: 't', role: 'user', content: id, createdAt: NOW, sentBy: 'client' } as const
  const child = subagentId === undefined ? {} : { subagentId }
  await store.write((tx) => stageMessage(tx, { ...message, ...child, digest: id }))
}

async function stageTool(store: Store, toolCallId: string): Promise<string> {
  const call = { threadId: 't', toolCallId, name: 'notify', args: {}, sentBy: 'client', now: NOW } as const
  return store.write((tx) => stageQueuedTool(tx, call))
}
