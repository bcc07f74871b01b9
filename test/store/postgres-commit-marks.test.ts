import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { forgetMarks, isCommitted, leaveMark } from '../../src/store/postgres/transactor.js'
import type { CommitMark } from '../../src/store/postgres/transactor.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/postgres-database.js'
import type { Schema } from '../../src/store/schema.js'
import type { Database } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { startPostgres } from '../support/postgres-server.js'
import type { PostgresServer } from '../support/postgres-server.js'
import { NOW } from './conformance/with-store.js'

let server: PostgresServer
let database: Database
beforeAll(async () => {
  server = await startPostgres()
  await migratePostgres(server.url('postgres'))
  database = await openPostgres(server.url('postgres'))
})
afterAll(async () => {
  await database.close()
  await server.stop()
})

/** A write that leaves its mark, and is undone when `fails`. */
async function marked(id: string, fails = false): Promise<CommitMark> {
  let mark: CommitMark | null | undefined
  const writing = database.write(async (tx) => {
    await insertThread(tx, { id, agent: 'support', created_at: NOW })
    mark = await leaveMark(tx)
    if (fails) throw new Error('undone')
  })
  await writing.catch(() => undefined)
  if (mark === undefined || mark === null) throw new Error('Expected a mark, got none.')
  return mark
}

const ask = (mark: CommitMark): Promise<boolean> =>
  database.read((db) => isCommitted(db as Kysely<Schema>, mark))

test('T2 a transaction is committed when its mark is there', async () => {
  expect(await ask(await marked('done'))).toBe(true)
  expect(await ask(await marked('undone', true))).toBe(false)
})

test("T2 another's commit under the same number is not taken for it", async () => {
  const mark = await marked('later')
  // A server that was killed before anything of it reached the disk gives its number again.
  expect(await ask({ ...mark, id: 'never committed' })).toBe(false)
})

test('what writes nothing leaves no mark', async () => {
  expect(await database.write((tx) => leaveMark(tx))).toBeNull()
})

test('marks of long ago are deleted, and no others', async () => {
  const [old, young] = [await marked('old'), await marked('young')]
  await database.write((tx) =>
    tx
      .updateTable('commits')
      .set({ committed_at: sql`committed_at - 3700000000` })
      .where('id', '=', old.id)
      .execute(),
  )
  await database.read((db) => forgetMarks(db as Kysely<Schema>))
  expect(await ask(young)).toBe(true)
  expect(await ask(old)).toBe(false)
  // To a process that slept for so long the server says no more than that the number was committed.
  await expect(ask({ ...old, at: old.at - 3_700_000_000 })).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('it may be done'),
  })
})
