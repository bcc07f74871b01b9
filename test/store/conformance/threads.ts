import { expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.js'
import {
  findThread,
  insertThread,
  listThreads,
  requestTermination,
  updateThread,
} from '../../../src/store/threads/threads.js'
import type { ThreadCursor, ThreadFilter } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

export function threadConformance(withStore: WithStore): void {
  test(
    'a thread is inserted once and read whole',
    withStore(async (store) => {
      const thread = { id: 't', agent: 'support', created_at: NOW, tags: ['a'], resumable: false }
      expect(await store.write((tx) => insertThread(tx, thread))).toBe(true)
      expect(await store.write((tx) => insertThread(tx, { ...thread, agent: 'other' }))).toBe(false)
      expect(await store.read((db) => findThread(db, 't'))).toMatchObject({
        ...thread,
        root_thread_id: 't',
        depth: 0,
        status: 'idle',
        last_activity_at: NOW,
        last_sequence: 0,
        last_position: 0,
        snapshot: null,
      })
      expect(await store.read((db) => findThread(db, 'nobody'))).toBeNull()
    }),
  )

  test(
    'a patch changes only what it names',
    withStore(async (store) => {
      await makeThread(store, 't')
      const snapshot = { status: 'running', queue: [] }
      expect(await store.write((tx) => updateThread(tx, 't', { snapshot, title: 'T' }))).toBe(true)
      expect(await store.write((tx) => updateThread(tx, 'nobody', { title: 'T' }))).toBe(false)
      const thread = await store.read((db) => findThread(db, 't'))
      expect(thread).toMatchObject({ snapshot, title: 'T', agent: 'support', resumable: true })
    }),
  )

  test(
    'T8: a termination is requested once, with its reason',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'closed')
      await store.write((tx) => updateThread(tx, 'closed', { closed_at: NOW }))
      const request = (threadId: string, reason: string) =>
        store.write((tx) => requestTermination(tx, { threadId, reason, now: NOW + 1 }))
      expect(await request('t', 'first')).toBe('requested')
      expect(await request('t', 'second')).toBe('already')
      expect(await request('closed', 'late')).toBe('closed')
      expect(await request('nobody', 'who')).toBe('missing')
      expect(await store.read((db) => findThread(db, 't'))).toMatchObject({
        terminate_requested_at: NOW + 1,
        terminate_reason: 'first',
      })
    }),
  )

  test(
    'threads are listed by newest activity, page by page',
    withStore(async (store) => {
      // Pairs share a time, so that pages end between equals.
      await store.write(async (tx) => {
        for (let n = 0; n < 7; n++) {
          await insertThread(tx, { id: `t${n}`, agent: 'a', created_at: NOW + Math.floor(n / 2) })
        }
      })
      const pages: string[][] = []
      const readPages = async (after: ThreadCursor | null): Promise<void> => {
        const page = await store.read((db) => listThreads(db, { after, limit: 3 }))
        pages.push(page.threads.map((thread) => thread.id))
        if (page.next !== null) await readPages(page.next)
      }
      await readPages(null)
      expect(pages).toEqual([['t6', 't5', 't4'], ['t3', 't2', 't1'], ['t0']])
    }),
  )

  test(
    'filters combine, and a tag is matched whole',
    withStore(async (store) => {
      await store.write(async (tx) => {
        const base = { agent: 'a', created_at: NOW }
        await insertThread(tx, { ...base, id: 'plain' })
        await insertThread(tx, { ...base, id: 'tagged', tags: ['vip', 'say "vip-2"'], user_id: 'ann' })
        await insertThread(tx, { ...base, id: 'other', agent: 'b', user_id: 'ann', status: 'running' })
        await insertThread(tx, { ...base, id: 'child', parent_thread_id: 'plain', tags: ['vip-2'] })
      })
      expect(await idsOf(store, { agent: 'b' })).toEqual(['other'])
      expect(await idsOf(store, { userId: 'ann' })).toEqual(['other', 'tagged'])
      expect(await idsOf(store, { userId: 'ann', status: 'running' })).toEqual(['other'])
      expect(await idsOf(store, { parent: null })).toEqual(['other', 'plain', 'tagged'])
      expect(await idsOf(store, { parent: 'plain' })).toEqual(['child'])
      expect(await idsOf(store, { tag: 'vip' })).toEqual(['tagged'])
      expect(await idsOf(store, { tag: 'vip-2' })).toEqual(['child'])
      expect(await idsOf(store, { tag: 'say "vip-2"' })).toEqual(['tagged'])
      expect(await idsOf(store, { tag: 'vip", "x' })).toEqual([])
    }),
  )
}

async function idsOf(store: Store, filter: ThreadFilter): Promise<readonly string[]> {
  const { threads } = await store.read((db) => listThreads(db, { filter, limit: 10 }))
  return threads.map((thread) => thread.id).toSorted()
}
