import { expect, test } from 'vitest'
import type { Permissions } from '../../../src/policy/permissions.js'
import { deliverMessages } from '../../../src/store/messages/delivery.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import type { Store } from '../../../src/store/store.js'
import {
  deleteOwnerPermissions,
  findOwnerPermissions,
  putOwnerPermissions,
} from '../../../src/store/threads/owner-permissions.js'
import type { PermissionsOwner } from '../../../src/store/threads/owner-permissions.js'
import { narrowRun, rulesOfWaiting } from '../../../src/store/threads/run-permissions.js'
import type { BroughtRules } from '../../../src/store/threads/run-permissions.js'
import { findRun, insertRun } from '../../../src/store/threads/runs.js'
import { findThreadForCall, insertThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const put = (store: Store, owner: PermissionsOwner, permissions: Permissions) =>
  store.write((tx) => putOwnerPermissions(tx, { owner, permissions, now: NOW }))

const begin = (store: Store, number: number, trigger_kind = 'message', thread_id = 't') =>
  store.write((tx) => insertRun(tx, { thread_id, number, trigger_kind, started_at: NOW }))

const narrow = (store: Store, number: number, ...brought: readonly Permissions[]) =>
  store.write((tx) => narrowRun(tx, { threadId: 't', number }, brought))

const rulesOfRun = async (store: Store, number: number, threadId = 't') =>
  (await store.read((db) => findRun(db, { threadId, number })))?.permissions

async function rulesOfCall(store: Store, threadId: string, run: number) {
  return (await store.read((db) => findThreadForCall(db, { threadId, run })))?.permissions.rules
}

const stage = (store: Store, id: string, brings?: BroughtRules, threadId = 't') =>
  store.write((tx) =>
    stageMessage(tx, {
      ...{ id, threadId, role: 'user', content: id, createdAt: NOW, sentBy: 'client', digest: id, brings },
    }),
  )

const deliver = (store: Store, ids: readonly string[], run: number) =>
  store.write((tx) => deliverMessages(tx, { threadId: 't', ids, run, step: 1 }))

export function permissionConformance(withStore: WithStore): void {
  test(
    'rules of an account or a user are replaced and removed, each apart from the others',
    withStore(async (store) => {
      const owners = [{ account: 'acme' }, { account: 'acme', userId: 'ann' }, { userId: 'ann' }]
      for (const [index, owner] of owners.entries()) await put(store, owner, { [`first.n${index}`]: 'deny' })
      for (const [index, owner] of owners.entries()) await put(store, owner, { [`n${index}`]: 'deny' })
      const find = (owner: PermissionsOwner) => store.read((db) => findOwnerPermissions(db, owner))
      expect(await Promise.all(owners.map(find))).toEqual([{ n0: 'deny' }, { n1: 'deny' }, { n2: 'deny' }])
      await store.write((tx) => deleteOwnerPermissions(tx, { account: 'acme', userId: 'ann' }))
      expect(await Promise.all(owners.map(find))).toEqual([{ n0: 'deny' }, null, { n2: 'deny' }])
      expect(await find({ account: 'globex' })).toBeNull()
    }),
  )

  test(
    'a call has the rules of its own account, user, thread and run',
    withStore(async (store) => {
      const rows = [
        { id: 'of-ann', account: 'acme', user_id: 'ann' },
        { id: 'of-ben', account: 'acme', user_id: 'ben' },
        { id: 'of-another-ann', account: 'globex', user_id: 'ann' },
        { id: 'of-a-free-ann', user_id: 'ann' },
        { id: 'of-nobody', permissions: { permissions: { t: 'deny' }, mode: 'plan' } },
      ] as const
      for (const row of rows)
        await store.write((tx) => insertThread(tx, { ...row, agent: 'support', created_at: NOW }))
      await put(store, { account: 'acme' }, { acme: 'deny' })
      await put(store, { account: 'acme', userId: 'ann' }, { ann: 'deny' })
      await put(store, { userId: 'ann' }, { free: 'deny' })
      const account = { source: 'account', permissions: { acme: 'deny' } }
      expect(await Promise.all(rows.map(({ id }) => rulesOfCall(store, id, 1)))).toEqual([
        [account, { source: 'user', permissions: { ann: 'deny' } }],
        [account],
        [],
        [{ source: 'user', permissions: { free: 'deny' } }],
        [{ source: 'thread', permissions: { t: 'deny' } }],
      ])
      await begin(store, 3, 'message', 'of-ben')
      await store.write((tx) => narrowRun(tx, { threadId: 'of-ben', number: 3 }, [{ run: 'deny' }]))
      const run = { source: 'run', permissions: { run: 'deny' } }
      expect(await rulesOfCall(store, 'of-ben', 3)).toEqual([account, run])
      expect(await rulesOfCall(store, 'of-ben', 2)).toEqual([account])
      expect(await store.read((db) => findThreadForCall(db, { threadId: 'missing', run: 1 }))).toBeNull()
    }),
  )

  test(
    'the rules of a run only become stricter, and only a run that continues it has them too',
    withStore(async (store) => {
      await makeThread(store, 't')
      await begin(store, 1)
      await narrow(store, 1)
      expect(await rulesOfRun(store, 1)).toBeNull()
      await narrow(store, 1, { a: 'require_approval' }, { b: 'deny' })
      await narrow(store, 1, { a: 'allow', b: 'allow', c: 'allow' })
      const rules = { a: 'require_approval', b: 'deny', c: 'allow' }
      expect(await rulesOfRun(store, 1)).toEqual(rules)
      // The number 2 was of a run that had nothing to do.
      for (const trigger of ['continue', 'variables']) {
        const number = trigger === 'continue' ? 3 : 4
        await begin(store, number, trigger)
        expect(await rulesOfRun(store, number)).toEqual(rules)
      }
      await narrow(store, 4, { c: 'deny' })
      expect(await rulesOfRun(store, 3)).toEqual(rules)
      await begin(store, 5, 'message')
      expect(await rulesOfRun(store, 5)).toBeNull()
      await begin(store, 6, 'continue')
      expect(await rulesOfRun(store, 6)).toBeNull()
    }),
  )

  test(
    'a message brings its rules, or those of the run that sends it, as often as it is drained',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'sender')
      await begin(store, 1, 'message', 'sender')
      const key = { threadId: 'sender', number: 1 }
      await store.write((tx) => narrowRun(tx, key, [{ sent: 'deny' }]))
      await stage(store, 'plain')
      await stage(store, 'given', { permissions: { given: 'deny' } })
      await stage(store, 'sent', { run: key })
      await stage(store, 'of-no-run', { run: { ...key, number: 2 } })
      const ids = ['plain', 'given', 'sent', 'of-no-run', 'unknown']
      const brought = [{ given: 'deny' }, { sent: 'deny' }]
      const waiting = await store.read((db) => rulesOfWaiting(db, 't', ids))
      expect(
        waiting.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
      ).toEqual(brought)
      for (const count of [4, 0]) {
        const delivered = await deliver(store, ids, 1)
        expect(delivered.messages).toHaveLength(count)
        expect(delivered.brought).toHaveLength(2)
        expect(delivered.brought).toEqual(expect.arrayContaining(brought))
      }
      expect(await store.read((db) => rulesOfWaiting(db, 't', ids))).toEqual([])
      expect(await store.read((db) => rulesOfWaiting(db, 't', []))).toEqual([])
    }),
  )
}
