import { expect, test } from 'vitest'
import { appendMessage, rejectUndelivered } from '../../../src/store/messages/delivery.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import { listMessages } from '../../../src/store/messages/transcript.js'
import type { ListMessages } from '../../../src/store/messages/transcript.js'
import type { Store } from '../../../src/store/store.js'
import { draft } from './messages.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

/** Positions 1 to 6 are m1 to m6, of which m2 is silent and m4 nested; q1 and q2 (same time) wait. */
async function fill(store: Store): Promise<void> {
  await makeThread(store, 't')
  await store.write(async (tx) => {
    for (let n = 1; n <= 6; n++) {
      const message = { threadId: 't', role: 'user', createdAt: NOW - n, sentBy: 'client' } as const
      await appendMessage(tx, {
        ...message,
        id: `m${n}`,
        content: null,
        silent: n === 2,
        depth: n === 4 ? 1 : 0,
      })
    }
    await stageMessage(tx, draft('q2'))
    await stageMessage(tx, draft('q1'))
  })
}

async function list(store: Store, options: Omit<ListMessages, 'threadId'> = {}) {
  const page = await store.read((db) => listMessages(db, { threadId: 't', ...options }))
  return [page.messages.map((message) => message.id).join(' '), page.total, page.hasMore]
}

export function messageListConformance(withStore: WithStore): void {
  test(
    'the newest are listed in order, queued ones last',
    withStore(async (store) => {
      await fill(store)
      expect(await list(store)).toEqual(['m1 m3 m5 m6 q2 q1', 6, false])
      expect(await list(store, { limit: 6 })).toEqual(['m1 m3 m5 m6 q2 q1', 6, false])
      expect(await list(store, { limit: 3 })).toEqual(['m6 q2 q1', 6, true])
      expect(await list(store, { limit: 1 })).toEqual(['q1', 6, true])
      expect(await list(store, { limit: 0 })).toEqual(['', 6, true])
    }),
  )

  test(
    'order turns the answer, not the choice of rows',
    withStore(async (store) => {
      await fill(store)
      expect(await list(store, { limit: 3, order: 'asc' })).toEqual(['m6 q2 q1', 6, true])
      expect(await list(store, { limit: 3, order: 'desc' })).toEqual(['q1 q2 m6', 6, true])
      expect(await list(store, { after: 1, limit: 2, order: 'desc' })).toEqual(['m5 m3', 6, true])
    }),
  )

  test(
    'an offset skips the newest, across queue and transcript',
    withStore(async (store) => {
      await fill(store)
      expect(await list(store, { offset: 1, limit: 2 })).toEqual(['m6 q2', 6, true])
      expect(await list(store, { offset: 3, limit: 2 })).toEqual(['m3 m5', 6, true])
      expect(await list(store, { offset: 4, limit: 2 })).toEqual(['m1 m3', 6, false])
      expect(await list(store, { offset: 9, limit: 2 })).toEqual(['', 6, false])
    }),
  )

  test(
    'positions page both ways, without queued ones',
    withStore(async (store) => {
      await fill(store)
      expect(await list(store, { before: 6, limit: 2 })).toEqual(['m3 m5', 6, true])
      expect(await list(store, { before: 3 })).toEqual(['m1', 6, false])
      expect(await list(store, { after: 1, limit: 2 })).toEqual(['m3 m5', 6, true])
      expect(await list(store, { after: 5, limit: 2 })).toEqual(['m6', 6, false])
      expect(await list(store, { after: 1, before: 6 })).toEqual(['m3 m5', 6, false])
      expect(await list(store, { before: Number.MAX_SAFE_INTEGER })).toEqual(['m1 m3 m5 m6', 6, false])
      expect(await list(store, { after: Number.MAX_SAFE_INTEGER })).toEqual(['', 6, false])
    }),
  )

  test(
    'silent and nested rows are shown when asked',
    withStore(async (store) => {
      await fill(store)
      expect(await list(store, { includeSilent: true, limit: 5 })).toEqual(['m3 m5 m6 q2 q1', 7, true])
      expect(await list(store, { maxDepth: 1 })).toEqual(['m1 m3 m4 m5 m6 q2 q1', 7, false])
    }),
  )

  test(
    'rejected messages leave the list',
    withStore(async (store) => {
      await fill(store)
      await store.write((tx) => rejectUndelivered(tx, 't'))
      expect(await list(store)).toEqual(['m1 m3 m5 m6', 4, false])
    }),
  )

  test(
    'queued ones are in the order of acceptance, whatever their clocks say',
    withStore(async (store) => {
      await makeThread(store, 't')
      for (const [id, createdAt] of [
        ['z', NOW],
        ['y', NOW - 5_000_000],
        ['x', NOW + 9],
        ['w', NOW],
      ] as const)
        await store.write((tx) => stageMessage(tx, draft(id, { createdAt })))
      expect(await list(store)).toEqual(['z y x w', 4, false])
    }),
  )
}
