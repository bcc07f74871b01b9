import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { expect, test } from 'vitest'
import { fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/postgres-database.js'
import type { Database, Reader } from '../../src/store/store.js'
import { findThread, insertThread } from '../../src/store/threads/threads.js'
import { createDatabase } from '../support/postgres-database.js'
import { NOW } from './conformance/with-store.js'

const THREADS = 20
const WRITES = 30
const IDS = Array.from({ length: THREADS }, (_, number) => `t${number}`)
/** So that they fill more than one page. */
const TITLE = 'A tent that leaks '.repeat(30)

interface Crowd {
  /** Each has its connections, as if it were alone. */
  readonly processes: number
  readonly movesActivity: boolean
}

/** A database with those threads, open in so many processes. */
async function withThreads<T>(
  processes: number,
  work: (open: readonly Database[]) => Promise<T>,
): Promise<T> {
  const { url, drop } = await createDatabase()
  await migratePostgres(url)
  const open = await Promise.all(Array.from({ length: processes }, () => openPostgres(url)))
  try {
    for (const id of IDS)
      await open[0]?.write((tx) => insertThread(tx, { id, agent: 'support', title: TITLE, created_at: NOW }))
    return await work(open)
  } finally {
    await Promise.all(open.map((database) => database.close()))
    await drop()
  }
}

/** For each 100 transactions of threads that are at work side by side: how often one lost to another thread's, and ran again. */
function lost({ processes, movesActivity }: Crowd): Promise<number> {
  return withThreads(processes, async (open) => {
    let tries = 0
    const write = (threadId: string, time: number) =>
      open[(IDS.indexOf(threadId) + time) % processes]?.write(async (tx) => {
        tries += 1
        await findThread(tx, threadId)
        const events = [fact('thread.started', { agent: 'a', parent: null })]
        await appendEvents(tx, { threadId, events, now: NOW + time, movesActivity })
      })
    await Promise.all(
      IDS.map(async (id) => {
        for (let time = 1; time <= WRITES; time += 1) await write(id, time)
      }),
    )
    const done = THREADS * WRITES
    return (100 * (tries - done)) / done
  })
}

test('threads at work do not lose to each other, as they would if each write moved the last activity', async () => {
  const processes = 6
  const still = await lost({ processes, movesActivity: false })
  expect(still).toBeLessThan(10)
  expect(await lost({ processes, movesActivity: true })).toBeGreaterThan(30)
})

test('a process whose transactions lose to each other has fewer side by side', async () => {
  expect(await lost({ processes: 1, movesActivity: true })).toBeLessThan(30)
})

test('a row of a working thread stays in its page', async () => {
  const moved = await withThreads(1, async ([database]) => {
    const pages = () =>
      database?.read(async (db: Reader) => {
        const asked = sql<{
          id: string
          page: string
        }>`select id, split_part(ctid::text, ',', 1) as page from threads`
        const { rows } = await asked.execute(db as unknown as Kysely<unknown>)
        return new Map(rows.map(({ id, page }) => [id, page]))
      })
    const before = await pages()
    const events = [fact('thread.started', { agent: 'a', parent: null })]
    for (const threadId of IDS)
      await database?.write((tx) => appendEvents(tx, { threadId, events, now: NOW, movesActivity: false }))
    const after = await pages()
    return IDS.filter((id) => before?.get(id) !== after?.get(id))
  })
  expect(moved).toEqual([])
})
