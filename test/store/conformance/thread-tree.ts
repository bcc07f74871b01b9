import { expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.js'
import {
  listRegisteredChildren,
  openThreadsBelow,
  threadsFrom,
} from '../../../src/store/threads/thread-tree.js'
import { listThreads, updateThread } from '../../../src/store/threads/threads.js'
import { addChildRows } from '../../support/child-rows.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

export function threadTreeConformance(withStore: WithStore): void {
  test(
    'a tree is listed by its root, newest activity first',
    withStore(async (store) => {
      await family(store)
      await makeThread(store, 'stranger')
      expect(await listed(store, 'root')).toEqual(['grandchild', 'second', 'first', 'root'])
      expect(await listed(store, 'first')).toEqual([])
    }),
  )

  test(
    'a thread leads to all below it, with their entries',
    withStore(async (store) => {
      await family(store)
      await makeThread(store, 'stranger')
      const nodes = await store.read((db) => threadsFrom(db, 'root'))
      expect(nodes.map(({ id, parent_thread_id: parent }) => [id, parent])).toEqual([
        ['root', null],
        ['first', 'root'],
        ['second', 'root'],
        ['grandchild', 'first'],
      ])
      expect(nodes[0]?.entry).toBeNull()
      expect(nodes[2]).toMatchObject({ agent: 'helper', status: 'running', closed_at: null })
      expect(nodes[2]?.entry).toMatchObject({ name: 'research', resumable: true, threadName: 'of second' })
      const some = await store.read((db) => threadsFrom(db, 'first'))
      expect(some.map(({ id, entry }) => [id, entry?.reference])).toEqual([
        ['first', 'first'],
        ['grandchild', 'grandchild'],
      ])
      expect(await store.read((db) => threadsFrom(db, 'nobody'))).toEqual([])
    }),
  )

  test(
    'the children of a thread are in pages by age, of both kinds',
    withStore(async (store) => {
      for (const [index, id] of ['d', 'c', 'b', 'a'].entries())
        await addChildRows(store, {
          ...{ id, parent: 'root', root: 'root', createdAt: NOW + index },
          entry: { resumable: index % 2 === 0 },
        })
      const page = (limit: number, after?: { readonly createdAt: number; readonly reference: string }) =>
        store.read((db) =>
          listRegisteredChildren(db, {
            parentThreadId: 'root',
            limit,
            ...(after !== undefined && { after }),
          }),
        )
      const first = await page(3)
      expect(first.map(({ reference }) => reference)).toEqual(['d', 'c', 'b'])
      expect((await page(3, first[0])).map(({ reference }) => reference)).toEqual(['c', 'b', 'a'])
      expect((await page(3, first[2])).map(({ reference }) => reference)).toEqual(['a'])
    }),
  )

  test(
    'a thread that is its own ancestor is in its tree once',
    withStore(async (store) => {
      await addChild(store, { id: 'a', parent: 'b' })
      await addChild(store, { id: 'b', parent: 'a' })
      const nodes = await store.read((db) => threadsFrom(db, 'a'))
      expect(nodes.map(({ id }) => id)).toEqual(['a', 'b'])
    }),
  )

  test(
    'open threads below one are found behind closed ones',
    withStore(async (store) => {
      await family(store)
      await store.write((tx) => updateThread(tx, 'first', { closed_at: NOW }))
      const ids = async () => (await store.read((db) => openThreadsBelow(db, 'root'))).map(({ id }) => id)
      expect((await ids()).toSorted()).toEqual(['grandchild', 'second'])
    }),
  )

  test(
    'a child that was not started yet is no open thread',
    withStore(async (store) => {
      await makeThread(store, 'root')
      await addChild(store, { id: 'waits', parent: 'root', entry: { status: 'deferred' } })
      const entry = { status: 'running', status_text: 'deferred' }
      await addChild(store, { id: 'says so', parent: 'root', entry })
      const open = await store.read((db) => openThreadsBelow(db, 'root'))
      expect(open).toEqual([{ id: 'says so', lastSequence: 0 }])
    }),
  )
}

async function family(store: Store): Promise<void> {
  await makeThread(store, 'root')
  await addChild(store, { id: 'first', parent: 'root', createdAt: NOW + 1 })
  await addChild(store, { id: 'second', parent: 'root', createdAt: NOW + 2 })
  await addChild(store, { id: 'grandchild', parent: 'first', createdAt: NOW + 3 })
}

async function addChild(
  store: Store,
  child: Omit<Parameters<typeof addChildRows>[1], 'root'>,
): Promise<void> {
  await addChildRows(store, { root: 'root', ...child })
}

async function listed(store: Store, root: string): Promise<readonly string[]> {
  const { threads } = await store.read((db) => listThreads(db, { filter: { root }, limit: 10 }))
  return threads.map(({ id }) => id)
}
