import { expect, test } from 'vitest'
import { putPlan } from '../../../src/store/agents.js'
import { recordError } from '../../../src/store/errors.js'
import { copyFile, putFile, removeFile } from '../../../src/store/files/files.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import { insertOperation } from '../../../src/store/operations.js'
import type { Store } from '../../../src/store/store.js'
import {
  listClosedTrees,
  closedTreeSize,
  deleteThreadRows,
  markDeleting,
  sweepBlobs,
  sweepErrors,
  sweepPlans,
} from '../../../src/store/threads/retention.js'
import { insertRun, updateRun } from '../../../src/store/threads/runs.js'
import { subtreeOf } from '../../../src/store/threads/thread-tree.js'
import { findThread, insertThread, updateThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const MINUTE = 60_000
/** Later than everything that these tests write. */
const future = (): number => Date.now() + MINUTE

export function retentionConformance(withStore: WithStore): void {
  test(
    'a subtree is read from its leaves to its top',
    withStore(async (store) => {
      await family(store)
      const ids = (await store.read((db) => subtreeOf(db, 'root'))).map(({ id }) => id)
      expect(ids.at(-1)).toBe('root')
      expect(ids.indexOf('leaf')).toBeLessThan(ids.indexOf('child'))
      expect(ids).toHaveLength(3)
      expect(await store.read((db) => subtreeOf(db, 'nobody'))).toEqual([])
    }),
  )

  test(
    'nothing of a deleted thread is left, and all of others',
    withStore(async (store) => {
      await family(store)
      await messages(store, 'leaf', 1203)
      await messages(store, 'child', 2)
      await deleteThreadRows(store, 'leaf')
      await deleteThreadRows(store, 'leaf')
      const left = await store.read((db) => db.selectFrom('messages').select('thread_id').execute())
      expect(left).toEqual([{ thread_id: 'child' }, { thread_id: 'child' }])
      expect(await store.read((db) => findThread(db, 'leaf'))).toBeNull()
      expect((await store.read((db) => subtreeOf(db, 'root'))).map(({ id }) => id)).toEqual(['child', 'root'])
    }),
  )

  test(
    'only trees that closed before count as closed',
    withStore(async (store) => {
      await family(store)
      await makeThread(store, 'young')
      const close = (id: string, at: number) =>
        store.write((tx) => updateThread(tx, id, { closed_at: at, status: 'completed' }))
      const tops = async () =>
        (await store.read((db) => listClosedTrees(db, { before: NOW, after: null, limit: 9 }))).map(
          ({ id }) => id,
        )
      await close('root', NOW - 3)
      await close('young', NOW)
      await close('child', NOW - 2)
      expect(await tops()).toEqual(['root'])
      expect(await store.read((db) => closedTreeSize(db, 'root', NOW))).toBeNull()
      await close('leaf', NOW - 1)
      expect(await store.read((db) => closedTreeSize(db, 'root', NOW))).toBe(3)
      expect(await store.read((db) => closedTreeSize(db, 'root', NOW - 1))).toBeNull()
    }),
  )

  test(
    'a deletion that was begun is found first, whatever its age',
    withStore(async (store) => {
      await family(store)
      for (const id of ['root', 'child', 'leaf'])
        await store.write((tx) => updateThread(tx, id, { closed_at: NOW }))
      expect(await store.write((tx) => markDeleting(tx, 'root'))).toBe(true)
      expect(await store.write((tx) => markDeleting(tx, 'nobody'))).toBe(false)
      const [top] = await store.read((db) => listClosedTrees(db, { before: 5, after: null, limit: 9 }))
      expect(top?.id).toBe('root')
      expect(await store.read((db) => closedTreeSize(db, 'root', 5))).toBe(3)
    }),
  )

  test(
    'bytes that no file names are swept once they are old',
    withStore(async (store) => {
      await makeThread(store, 'root')
      const kept = await file(store, '/kept.txt', 'kept')
      const dropped = await file(store, '/dropped.txt', 'dropped')
      const untold = await store.blobs.write(new TextEncoder().encode('of a call that was cut off'))
      await store.write((tx) => removeFile(tx, 'root', '/dropped.txt'))
      expect(await sweepBlobs(store, { before: 0, dryRun: false })).toBe(0)
      expect(await sweepBlobs(store, { before: future(), dryRun: true })).toBe(2)
      expect(await sweepBlobs(store, { before: future(), dryRun: false })).toBe(2)
      expect(await store.blobs.read(kept)).not.toBeNull()
      expect(await store.blobs.read(dropped)).toBeNull()
      expect(await store.blobs.read(untold.digest)).toBeNull()
    }),
  )

  test(
    'a copy keeps the bytes whose first name is gone',
    withStore(async (store) => {
      await makeThread(store, 'root')
      await makeThread(store, 'other')
      const digest = await file(store, '/a.txt', 'shared')
      const copy = {
        fromThreadId: 'root',
        fromPath: '/a.txt',
        toThreadId: 'other',
        toPath: '/b.txt',
        now: NOW,
      }
      await store.write((tx) => copyFile(tx, copy))
      await store.write((tx) => removeFile(tx, 'root', '/a.txt'))
      expect(await sweepBlobs(store, { before: future(), dryRun: false })).toBe(0)
      expect(await store.blobs.read(digest)).not.toBeNull()
    }),
  )

  test(
    'bytes that are written anew are young again',
    withStore(async (store) => {
      await makeThread(store, 'root')
      const digest = await file(store, '/a.txt', 'again')
      await store.write((tx) => removeFile(tx, 'root', '/a.txt'))
      const before = Date.now() - MINUTE
      await store.write((tx) => tx.updateTable('blobs').set({ created_at: 1 }).execute())
      expect(await sweepBlobs(store, { before, dryRun: false })).toBe(0)
      expect(await store.blobs.read(digest)).not.toBeNull()
    }),
  )

  test(
    'errors of threads that are gone are swept',
    withStore(async (store) => {
      await makeThread(store, 'root')
      const error = { at: 1, type: 'x', message: 'y', stack: null }
      await store.write(async (tx) => {
        await recordError(tx, { ...error, id: '1', threadId: 'root' })
        await recordError(tx, { ...error, id: '2', threadId: 'gone' })
        await recordError(tx, { ...error, id: '3', threadId: null })
        await recordError(tx, { ...error, id: '4', threadId: null, at: NOW * 2 })
      })
      const before = NOW / 1000
      expect(await sweepErrors(store, { before, dryRun: true })).toBe(2)
      expect(await sweepErrors(store, { before, dryRun: false })).toBe(2)
      const left = await store.read((db) => db.selectFrom('errors').select('id').orderBy('id').execute())
      expect(left.map(({ id }) => id)).toEqual(['1', '4'])
    }),
  )

  test(
    'a plan is kept while a run under way has it',
    withStore(async (store) => {
      await makeThread(store, 'root')
      // A run has its plan from the first of these operations on: a step, a queued tool, or immediate subagents.
      const kinds = ['model', 'begin', 'activation']
      await store.write(async (tx) => {
        for (const digest of [...kinds, 'unused']) await putPlan(tx, { digest, content: {}, now: 1 })
        for (const [index, kind] of kinds.entries()) {
          const run = index + 1
          await insertRun(tx, { thread_id: 'root', number: run, trigger_kind: 'message', started_at: 1 })
          const operation = { thread_id: 'root', id: `${kind}_${run}`, kind, run, state: 'finished' } as const
          await insertOperation(tx, { ...operation, attempt: 1, started_at: 1, detail: { plan: kind } })
        }
      })
      const sweep = { before: 1000, dryRun: false }
      expect(await sweepPlans(store, sweep)).toBe(1)
      expect(await sweepPlans(store, sweep)).toBe(0)
      for (const number of [1, 2, 3]) {
        await store.write((tx) => updateRun(tx, { threadId: 'root', number }, { ended_at: 2 }))
        expect(await sweepPlans(store, { ...sweep, dryRun: true })).toBe(1)
        expect(await sweepPlans(store, sweep)).toBe(1)
      }
    }),
  )
}

async function family(store: Store): Promise<void> {
  await makeThread(store, 'root')
  const add = (id: string, parent: string) =>
    store.write((tx) =>
      insertThread(tx, { id, agent: 'x', created_at: NOW, parent_thread_id: parent, root_thread_id: 'root' }),
    )
  await add('child', 'root')
  await add('leaf', 'child')
}

async function messages(store: Store, threadId: string, count: number): Promise<void> {
  await store.write(async (tx) => {
    for (let index = 0; index < count; index += 1) {
      const draft = { id: `${threadId}-${index}`, threadId, role: 'user', content: 'x', digest: '' } as const
      await stageMessage(tx, { ...draft, createdAt: NOW + index, sentBy: 'runtime' })
    }
  })
}

async function file(store: Store, path: string, text: string): Promise<string> {
  const { digest: blob, size } = await store.blobs.write(new TextEncoder().encode(text))
  const entry = { threadId: 'root', path, mimeType: 'text/plain', size, blob, now: NOW }
  await store.write((tx) => putFile(tx, entry))
  return blob
}
