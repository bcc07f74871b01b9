import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { endOldCharges } from '../../src/store/budgets/charges.js'
import { readSpending } from '../../src/store/budgets/spending.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { NOW } from './conformance/with-store.js'
import type { StoreProcess } from './processes/run-process.js'

/** Threads of one tree, each with a process that is killed, and followed by the next one. */
const THREADS = ['root', 'a', 'b', 'c']
/** 200, to prove that nothing leaks at 200 points: EVERTHREAD_KILLS=200. */
const KILLS = Number(process.env['EVERTHREAD_KILLS'] ?? 24)

/**
 * Kills processes with -9 at any point of a request that is charged to the budget of their tree. Then nothing is held, each finished
 * request is counted with what it has used, each one that was lost with its estimate, and at most one more for each death.
 */
export async function killCharges(store: Store, start: (thread: string) => StoreProcess): Promise<void> {
  for (const id of THREADS)
    await store.write((tx) => insertThread(tx, { id, agent: 'any', root_thread_id: 'root', created_at: NOW }))
  await Promise.all(THREADS.map((thread) => killOften(thread, start)))
  await endOldCharges(store, null)
  const [finished, begun] = [await countRequests(store, 'finished'), await countRequests(store, 'started')]
  const { spent, held } = await store.read((db) => readSpending(db, { owner: 'tree:root', period: 'total' }))
  const unsent = spent.modelCalls - finished - begun
  expect(held).toEqual({ inputTokens: 0, outputTokens: 0, cost: 0 })
  expect(spent.inputTokens).toBe(7 * finished + 10 * begun)
  expect(spent.outputTokens).toBe(3 * finished)
  expect(unsent).toBeGreaterThanOrEqual(0)
  expect(unsent + begun).toBeLessThanOrEqual(KILLS)
  expect(finished).toBeGreaterThanOrEqual(KILLS)
}

async function killOften(thread: string, start: (thread: string) => StoreProcess): Promise<void> {
  for (let n = 0; n < KILLS / THREADS.length; n += 1) {
    const child = start(thread)
    await child.said('charged')
    await delay(Math.random() * 40)
    await child.kill()
  }
}

async function countRequests(store: Store, state: string): Promise<number> {
  const rows = await store.read((db) =>
    db.selectFrom('operations').select('id').where('state', '=', state).where('kind', '=', 'model').execute(),
  )
  return rows.length
}
