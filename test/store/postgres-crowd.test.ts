import { expect, test } from 'vitest'

import { appendEvents } from '../../src/store/events.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/open-postgres.js'
import { findThread, insertThread } from '../../src/store/threads.js'
import { createDatabase } from '../support/postgres-database.js'
import { NOW } from './conformance/with-store.js'

const THREADS = 20
const WRITES = 50
const IDS = Array.from({ length: THREADS }, (_, number) => `t${number}`)

/** For each 100 transactions of threads that are at work side by side: how often one lost to another thread's, and ran again. */
async function lost(movesActivity: boolean): Promise<number> {
  const { url, drop } = await createDatabase()
  await migratePostgres(url)
  const database = await openPostgres(url)
  let tries = 0
  const write = (threadId: string, now: number) =>
    database.write(async (tx) => {
      tries += 1
      await findThread(tx, threadId)
      await appendEvents(tx, { threadId, events: [{ type: 'thread.started' }], now, movesActivity })
    })
  try {
    for (const id of IDS)
      await database.write((tx) => insertThread(tx, { id, agent: 'support', created_at: NOW }))
    await Promise.all(
      IDS.map(async (id) => {
        for (let time = 1; time <= WRITES; time += 1) await write(id, NOW + time)
      }),
    )
  } finally {
    await database.close()
    await drop()
  }
  const done = THREADS * WRITES
  return (100 * (tries - done)) / done
}

test('threads at work do not lose to each other, as they would if each write moved the last activity', async () => {
  const [still, moving] = [await lost(false), await lost(true)]
  expect(still).toBeLessThan(10)
  expect(moving).toBeGreaterThan(30)
})
