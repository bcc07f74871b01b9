import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migratePostgres, openPostgres } from '../../src/store/postgres/postgres-database.js'
import type { Database, Reader, Writer } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { createDatabase } from '../support/postgres-database.js'
import { until } from '../support/until.js'
import { NOW } from './conformance/with-store.js'

const PATIENCE = 60_000

/** What one reads the other changes: one that is wholly inside of another's time makes that one lose. */
async function cross(tx: Writer, from: string, to: string, between: () => Promise<void>): Promise<void> {
  const last = await lastSequence(tx, from)
  await between()
  await tx
    .updateTable('threads')
    .set({ last_sequence: last + 1 })
    .where('id', '=', to)
    .execute()
}

async function lastSequence(db: Reader, id: string): Promise<number> {
  const row = await db.selectFrom('threads').select('last_sequence').where('id', '=', id).executeTakeFirst()
  return row?.last_sequence ?? 0
}

test('a long transaction gets its turn among ever more short ones', async () => {
  const { url, drop } = await createDatabase()
  await migratePostgres(url)
  // Two processes: what a process could do for its own transactions would not be enough.
  const [one, other] = [await openPostgres(url, { patience: PATIENCE }), await openPostgres(url)]
  for (const id of ['a', 'b'])
    await one.write((tx) => insertThread(tx, { id, agent: 'support', created_at: NOW }))
  const crowd = { goesOn: true, done: 0 }
  const short = async (database: Database): Promise<void> => {
    while (crowd.goesOn) {
      await database.write((tx) => cross(tx, 'b', 'a', async () => {}))
      crowd.done += 1
    }
  }
  const shorts = [short(one), short(other)]
  let attempts = 0
  try {
    await one.write((tx) => {
      attempts += 1
      return cross(tx, 'a', 'b', () => delay(400))
    })
    expect(attempts).toBeGreaterThan(2)
    expect(await one.read((db) => lastSequence(db, 'b'))).toBeGreaterThan(0)
    const before = crowd.done
    await until('the others to go on', () => crowd.done > before)
  } finally {
    crowd.goesOn = false
    await Promise.allSettled(shorts)
    await Promise.all([one.close(), other.close()])
    await drop()
  }
})
