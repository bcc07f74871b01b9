import { expect, test } from 'vitest'
import {
  addTo,
  lockSpendings,
  readSpending,
  rememberedSpendings,
  replaceRemembered,
  writeSpendings,
} from '../../src/store/budgets/spending.js'
import type { Spending } from '../../src/store/budgets/spending.js'
import { threadSubject } from '../../src/store/budgets/subjects.js'
import type { Store, Writer } from '../../src/store/store.js'
import { deleteThreadRows } from '../../src/store/threads/retention.js'
import { withStore } from '../support/temporary-store.js'
import { makeThread } from './conformance/with-store.js'

/** The rows of a thread, and of a tree that others write too, as one transaction locks them. */
const PLACES = [threadSubject('t'), { owner: 'tree:t', period: 'total', threadId: 't' }] as const

const step = (row: Spending): Spending => addTo(row, { steps: 1 })

/** Both rows have one step, and this process knows it. */
async function countOnce(store: Store): Promise<void> {
  await makeThread(store, 't')
  await store.writeLocked(async (tx) => writeSpendings(tx, (await lockSpendings(tx, PLACES)).map(step)))
}

/** Counts one step more by what this process remembers. */
async function countAgain(tx: Writer): Promise<boolean> {
  const known = rememberedSpendings(tx, PLACES)
  if (known === null) throw new Error('Expected rows that are remembered.')
  return replaceRemembered(
    tx,
    known,
    known.map(({ row }) => step(row)),
  )
}

function steps(store: Store): Promise<readonly number[]> {
  return store.read(async (db) => {
    const rows = await Promise.all(PLACES.map((place) => readSpending(db, place)))
    return rows.map(({ spent }) => spent.steps)
  })
}

/** What another process does. */
async function setSteps(store: Store, owner: string, count: number): Promise<void> {
  await store.write((tx) =>
    tx
      .updateTable('spending')
      .set({ state: JSON.stringify({ spent: { ...NO_STEPS, steps: count } }) })
      .where('owner', '=', owner)
      .execute(),
  )
}

const NO_STEPS = { modelCalls: 0, toolCalls: 0, runtime: 0, inputTokens: 0, outputTokens: 0, cost: 0 }

test('rows that are as this process remembers them are written without a read', () =>
  withStore(async (store) => {
    await countOnce(store)
    expect(await store.write(countAgain)).toBe(true)
    expect(await steps(store)).toEqual([2, 2])
  }))

test.each([
  ['the first', 'thread:t', [5, 1]],
  ['the last', 'tree:t', [1, 5]],
] as const)('if another process has written %s of the rows, none is written', (_, owner, expected) =>
  withStore(async (store) => {
    await countOnce(store)
    await setSteps(store, owner, 5)
    expect(await store.write(countAgain)).toBe(false)
    expect(await steps(store)).toEqual(expected)
    await store.writeLocked(async (tx) => writeSpendings(tx, (await lockSpendings(tx, PLACES)).map(step)))
    expect(await steps(store)).toEqual(expected.map((count) => count + 1))
    expect(await store.write(countAgain)).toBe(true)
  }),
)

test('what a transaction has written that was rolled back is not counted', () =>
  withStore(async (store) => {
    await countOnce(store)
    const undone = store.write(async (tx) => {
      await countAgain(tx)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await store.write(countAgain)).toBe(false)
    expect(await steps(store)).toEqual([1, 1])
  }))

test('the rows of a thread that was deleted are not made anew', () =>
  withStore(async (store) => {
    await countOnce(store)
    await deleteThreadRows(store, 't')
    expect(await store.write(countAgain)).toBe(false)
    expect(await store.read((db) => db.selectFrom('spending').selectAll().execute())).toEqual([])
  }))

test('rows that another store of this process has are not taken for those of this one', () =>
  withStore((other) =>
    withStore(async (store) => {
      await countOnce(store)
      await countOnce(other)
      await other.write(countAgain)
      expect(await store.write(countAgain)).toBe(false)
      expect([await steps(store), await steps(other)]).toEqual([
        [1, 1],
        [2, 2],
      ])
    }),
  ))

test('a row that another store of this process writes meanwhile is not taken for the one that was counted', () =>
  withStore((other) =>
    withStore(async (store) => {
      const account = { owner: 'account:a', period: 'total', threadId: null } as const
      const places = [threadSubject('t'), account]
      const count = async (tx: Writer) => writeSpendings(tx, (await lockSpendings(tx, places)).map(step))
      await store.writeLocked(count)
      await store.writeLocked(count)
      // This process remembers the row of the account as the other store has it.
      await other.writeLocked(async (tx) =>
        writeSpendings(tx, (await lockSpendings(tx, [account])).map(step)),
      )
      const again = async (tx: Writer, of: typeof places | [typeof account]) => {
        const known = rememberedSpendings(tx, of) ?? []
        return replaceRemembered(
          tx,
          known,
          known.map(({ row }) => step(row)),
        )
      }
      const both = store.write((tx) =>
        other.write((there) => Promise.all([again(tx, places), again(there, [account])])),
      )
      expect(await both).toEqual([false, true])
      const { spent } = await store.read((db) => readSpending(db, account))
      expect(spent.steps).toBe(2)
    }),
  ))
