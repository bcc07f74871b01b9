import { expect, test } from 'vitest'
import { NOTHING_HELD } from '../../../src/policy/budget-judgement.js'
import type { Held } from '../../../src/policy/budget-judgement.js'
import { nowMicros } from '../../../src/protocol/time.js'
import { readBudgetState } from '../../../src/store/budgets/budget-state.js'
import { endChargeOf, endOldCharges, findCharge, settled } from '../../../src/store/budgets/charges.js'
import { deleteThreadRows } from '../../../src/store/threads/retention.js'
import { findOwnerBudgets, putOwnerBudgets } from '../../../src/store/budgets/owner-budgets.js'
import {
  forgetRaised,
  lockSpendings,
  raiseLimit,
  readSpending,
  writeSpendings,
} from '../../../src/store/budgets/spending.js'
import type { Charge, Spending } from '../../../src/store/budgets/spending.js'
import { ownerName, ownersOf, readSubjects, threadSubject } from '../../../src/store/budgets/subjects.js'
import { finishOperation, insertOperation } from '../../../src/store/operations.js'
import type { Store, Writer } from '../../../src/store/store.js'
import { insertThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const TREE = { owner: 'tree:t', period: 'total' } as const
const HELD: Held = { inputTokens: 10, outputTokens: 20, cost: 30 }
/** A charge that is older than an hour is ended by whoever sees it. */
const BEGAN = nowMicros()
const IN_STORE = { worker: undefined, agent: undefined, stored: 'unread' } as const
const OWN = threadSubject('t')

const charge: Charge = {
  ...{ id: '1', operation: 'model_1_1', tool: '', run: 1, number: 1, scheduledAt: 1, at: BEGAN },
  owners: [OWN, TREE].map(({ owner, period }) => ({ owner, period, beganAt: 0 })),
}

/** The row of thread `t` with this charge, which holds so much. */
async function putCharge(tx: Writer, given: Charge = charge, held = HELD): Promise<void> {
  await changeRow(tx, OWN, (row) => ({ ...row, held, charge: given }))
}

/** A request holds something of the tree of thread `t`. */
async function hold(store: Store): Promise<void> {
  await makeThread(store, 't')
  await store.writeLocked(async (tx) => {
    await putCharge(tx)
    await changeRow(tx, { ...TREE, threadId: 't' }, (row) => ({ ...row, held: HELD }))
    await insertOperation(tx, {
      ...{ thread_id: 't', id: 'model_1_1', kind: 'model', state: 'started', attempt: 1, started_at: NOW },
      detail: { requests: [{ usage: null, error: null, prices: { inputPrice: 2 } }] },
    })
  })
}

type Locking = Parameters<typeof lockSpendings>[1][number]

async function changeRow(tx: Writer, key: Locking, change: (row: Spending) => Spending): Promise<void> {
  writeSpendings(tx, (await lockSpendings(tx, [key])).map(change))
}

const sums = async (store: Store) => {
  const { spent, held } = await store.read((db) => readSpending(db, TREE))
  return [spent.inputTokens, spent.outputTokens, spent.cost, held.inputTokens, held.outputTokens, held.cost]
}

export function budgetConformance(withStore: WithStore): void {
  test(
    'sums that many transactions add to at the same time lose nothing, and none of them fails',
    withStore(async (store) => {
      const add = () =>
        store.writeLocked(async (tx) => {
          await changeRow(tx, { ...TREE, threadId: null }, (row) => ({
            ...row,
            spent: { ...row.spent, steps: row.spent.steps + 1 },
          }))
        })
      await Promise.all(Array.from({ length: 100 }, add))
      expect((await store.read((db) => readSpending(db, TREE))).spent.steps).toBe(100)
    }),
  )

  test(
    'a charge is ended once, with what its request has used, or with its input if that was lost',
    withStore(async (store) => {
      await hold(store)
      expect(await sums(store)).toEqual([0, 0, 0, 10, 20, 30])
      await endChargeOf(store, { threadId: 'another', at: null })
      expect(await endOldCharges(store, null)).toBe(0)
      expect(await sums(store)).toEqual([0, 0, 0, 10, 20, 30])
      await Promise.all([1, 2, 3].map(() => endChargeOf(store, { threadId: 't', at: BEGAN + 2_000_000 })))
      expect(await sums(store)).toEqual([10, 0, 20, 0, 0, 0])
      expect((await store.read((db) => readSpending(db, TREE))).spent.runtime).toBe(2_000)
      expect((await store.read((db) => readSpending(db, OWN))).held.inputTokens).toBe(0)
      expect((await store.read((db) => findCharge(db, 't')))?.at).toBe(BEGAN + 2_000_000)
    }),
  )

  test(
    'a sweep ends the charge of a call that is over',
    withStore(async (store) => {
      await hold(store)
      const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0, cost: 13 }
      await store.write((tx) =>
        finishOperation(tx, {
          ...{ threadId: 't', id: 'model_1_1', attempt: 1, answer: {}, now: NOW },
          detail: { requests: [{ usage, error: null }] },
        }),
      )
      expect(await endOldCharges(store, { threadId: 't' })).toBe(0)
      expect(await endOldCharges(store, null)).toBe(1)
      expect(await endOldCharges(store, null)).toBe(0)
      expect(await sums(store)).toEqual([7, 3, 13, 0, 0, 0])
    }),
  )

  test(
    'a charge that is older than any call of a model is ended, whatever became of its worker',
    withStore(async (store) => {
      await hold(store)
      const before = { ...charge, at: BEGAN - 2 * 3_600_000_000 }
      await store.writeLocked((tx) => putCharge(tx, before))
      expect(await endOldCharges(store, null)).toBe(1)
      expect(await sums(store)).toEqual([10, 0, 20, 0, 0, 0])
    }),
  )

  test(
    'a thread that is deleted gives back what it held, and what it has used is counted',
    withStore(async (store) => {
      await hold(store)
      const account = { owner: 'account:a', period: 'total' } as const
      await store.writeLocked(async (tx) => {
        await putCharge(tx, { ...charge, owners: [...charge.owners, { ...account, beganAt: 0 }] })
        await changeRow(tx, { ...account, threadId: null }, (row) => ({ ...row, held: HELD }))
      })
      await deleteThreadRows(store, 't')
      const { spent, held } = await store.read((db) => readSpending(db, account))
      expect([spent.inputTokens, held.inputTokens, held.outputTokens]).toEqual([10, 0, 0])
    }),
  )

  test(
    'a charge that another call follows while it is ended is settled once',
    withStore(async (store) => {
      await hold(store)
      const next = store.writeLocked(async (tx) => {
        const [own] = await lockSpendings(tx, [OWN])
        const held = own?.held ?? NOTHING_HELD
        const used = held.inputTokens === 0 ? NOTHING_HELD : { ...HELD, inputTokens: 10 }
        await changeRow(tx, { ...TREE, threadId: 't' }, (row) => settled(row, held, used))
        await putCharge(tx, { ...charge, operation: 'model_1_2' }, NOTHING_HELD)
      })
      await Promise.all([next, endOldCharges(store, null), endChargeOf(store, { threadId: 't', at: null })])
      const [input] = await sums(store)
      expect(input).toBe(10)
    }),
  )

  test(
    'a period that is over begins anew, and one that begins in the future stays: no clock gives anything back twice',
    withStore(async (store) => {
      const hour = { owner: 'account:a', period: 'hour', threadId: null } as const
      const write = (beganAt: number | null) =>
        store.writeLocked(async (tx) => {
          let before = 0
          await changeRow(tx, hour, (row) => {
            before = row.beganAt
            return {
              ...row,
              beganAt: beganAt ?? row.beganAt,
              spent: { ...row.spent, steps: 5 },
              raised: { maxSteps: { most: 9, approval: {} } },
            }
          })
          return before
        })
      const beganAt = await write(null)
      expect(Math.abs(beganAt / 1000 - Date.now())).toBeLessThan(2 * 3_600_000)
      expect((await store.read((db) => readSpending(db, hour))).spent.steps).toBe(5)
      await write(beganAt - 3_600_000_000)
      expect(await store.read((db) => readSpending(db, hour))).toMatchObject({
        ...{ beganAt, spent: { steps: 0 }, raised: {} },
      })
      const future = beganAt + 30 * 24 * 3_600_000_000
      await write(future)
      expect(await store.read((db) => readSpending(db, hour))).toMatchObject({
        ...{ beganAt: future, spent: { steps: 5 } },
      })
    }),
  )

  test(
    'a limit is raised, and never lowered',
    withStore(async (store) => {
      await hold(store)
      for (const most of [5, 9, 7])
        await store.write((tx) =>
          raiseLimit(tx, { ...TREE, name: 'maxSteps', most, beganAt: 0, approval: {} }),
        )
      expect((await store.read((db) => readSpending(db, TREE))).raised).toEqual({
        maxSteps: { most: 9, approval: {} },
      })
      await store.write((tx) => forgetRaised(tx, TREE.owner))
      expect((await store.read((db) => readSpending(db, TREE))).raised).toEqual({})
      const late = { ...TREE, name: 'maxSteps', most: 20, beganAt: 5, approval: {} } as const
      await store.write((tx) => raiseLimit(tx, late))
      expect((await store.read((db) => readSpending(db, TREE))).raised).toEqual({})
    }),
  )

  test(
    'the budgets of a thread are those of its account, its user, its root, itself and its run',
    withStore(async (store) => {
      await store.write(async (tx) => {
        const made = { agent: 'a', created_at: NOW, account: 'acme', user_id: 'ann' }
        await insertThread(tx, {
          ...made,
          id: 'root',
          budgets: { tree: { maxSteps: 3 }, run: { maxSteps: 1 } },
        })
        await insertThread(tx, { ...made, id: 'child', root_thread_id: 'root', parent_thread_id: 'root' })
        await insertThread(tx, { id: 'other', agent: 'a', created_at: NOW, user_id: 'ann' })
        const put = (owner: object, maxSteps: number) =>
          putOwnerBudgets(tx, { owner: owner as never, budgets: { day: { maxSteps } }, now: NOW })
        await put({ account: 'acme' }, 10)
        await put({ account: 'acme', userId: 'ann' }, 11)
        await put({ userId: 'ann' }, 12)
        await putOwnerBudgets(tx, {
          owner: { account: 'globex' },
          budgets: { day: { maxSteps: 1 } },
          now: NOW,
        })
      })
      const of = async (threadId: string) => {
        const subjects = await store.read((db) => readSubjects(db, { threadId, run: 2 }, IN_STORE))
        return subjects.all.map(({ scope, owner, limits }) => [scope, owner, limits[0]?.most])
      }
      const shared = [
        ['account', 'account:acme', 10],
        ['user', 'user:acme:ann', 11],
        ['tree', 'tree:root', 3],
      ]
      expect(await of('root')).toEqual([...shared, ['run', 'run:2:root', 1]])
      expect(await of('child')).toEqual(shared)
      expect(await of('other')).toEqual([['user', 'user::ann', 12]])
      expect(await of('none')).toEqual([])
      const owners = await store.read((db) => ownersOf(db, { threadId: 'child', run: 2 }))
      expect(owners.map(({ owner }) => owner).slice(-3)).toEqual(['tree:root', 'thread:child', 'run:2:child'])
      const state = await store.read((db) => readBudgetState(db, { threadId: 'root', run: 2 }))
      expect(state.map(({ scope, limits, used }) => [scope, limits, used])).toContainEqual([
        ...['tree', { maxSteps: 3 }, { maxSteps: 0 }],
      ])
      const owner = { account: 'acme' }
      expect(await store.read((db) => findOwnerBudgets(db, owner))).toEqual({ day: { maxSteps: 10 } })
      await store.write((tx) => putOwnerBudgets(tx, { owner, budgets: null, now: NOW }))
      expect(await store.read((db) => findOwnerBudgets(db, owner))).toBeNull()
    }),
  )

  test('no two owners have one name', () => {
    const names = [
      ownerName({ account: 'a:b', userId: 'c' }),
      ownerName({ account: 'a', userId: 'b:c' }),
      ownerName({ userId: 'a:b:c' }),
      ownerName({ account: 'a' }),
      ownerName({ account: 'user:a' }),
    ]
    expect(new Set(names).size).toBe(names.length)
  })
}
