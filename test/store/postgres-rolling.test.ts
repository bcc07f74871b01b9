import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { openStore, prepareStore } from '../../src/store/open-store.js'
import { MIGRATIONS } from '../../src/store/migrations/schema-version.js'
import type { Migration } from '../../src/store/migrations/schema-version.js'
import { migratePostgres } from '../../src/store/postgres/postgres-database.js'
import type { Reader, Store } from '../../src/store/store.js'
import { createDatabase } from '../support/postgres-database.js'
import type { PostgresDatabase } from '../support/postgres-database.js'
import { until } from '../support/until.js'
import { makeThread } from './conformance/with-store.js'
import { runProcess } from './processes/run-process.js'

/** What a later version might do: add a column, an index, a table. `oldestCode`: which code may go on. */
const nextMigration = (oldestCode: number): readonly string[] => [
  'alter table messages add column mood text collate "C"',
  'create index messages_by_mood on messages (mood)',
  'create table moods (name text primary key)',
  `update schema_info set version = version + 1, oldest_code = ${oldestCode}`,
]

let folder = ''
let database: PostgresDatabase
const opened: Store[] = []

const place = () => ({ database: database.url, blobs: join(folder, 'blobs') })

async function open(): Promise<Store> {
  const store = await openStore(place())
  opened.push(store)
  return store
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-rolling-'))
  database = await createDatabase()
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

test('a process works on while the schema goes one version further', async () => {
  const store = await open()
  await makeThread(store, 't')
  const workers = ['a', 'b'].map((name) => runProcess('append', place(), name, '400'))
  await until('the processes to write', async () => (await count(store)) > 20)
  await migrateFurther(1)
  const then = await count(store)
  expect(then).toBeLessThan(800)
  await Promise.all(workers.map((worker) => worker.ended()))
  const transcript = await store.read((db) => readTranscript(db, 't'))
  expect(transcript.map(({ position }) => position)).toEqual(
    Array.from({ length: 800 }, (_, index) => index + 1),
  )
})

test('what connections keep planned is planned anew after a migration', async () => {
  const store = await open()
  await makeThread(store, 't')
  const [look, atOnce] = [(db: Reader) => readTranscript(db, 't'), Array.from({ length: 9 })]
  const lookEverywhere = () =>
    Promise.all(atOnce.flatMap(() => [store.read(look), store.write((tx) => look(tx))]))
  for (const _ of [1, 2]) await lookEverywhere()
  await migrateFurther(1)
  expect(await lookEverywhere()).toEqual(Array.from({ length: 18 }, () => []))
})

test('a connection keeps a statement, and plans a read for its values each time', async () => {
  const store = await openStore({ ...place(), database: withConnections(3) })
  opened.push(store)
  const threadIds = Array.from({ length: 8 }, (_, number) => `t${number}`)
  for (const threadId of threadIds) await store.read((db) => readTranscript(db, threadId))
  const { rows } = await store.read((db) =>
    sql<{ generic: number; custom: number }>`
      select generic_plans as generic, custom_plans as custom from pg_prepared_statements
      where statement like ${'%from "messages"%'}`.execute(db as unknown as Kysely<unknown>),
  )
  expect(rows).toEqual([{ generic: 0, custom: 8 }])
})

test('a store keeps its id until it is given another', async () => {
  const { id } = await prepareStore(place())
  expect(await prepareStore(place())).toMatchObject({ id })
  const renewed = await prepareStore(place(), { newId: true })
  expect(renewed.id).not.toBe(id)
  expect((await open()).id).toBe(renewed.id)
})

test('code of before starts on a schema that allows it, and leaves it', async () => {
  await migrateFurther(1)
  await prepareStore(place())
  await makeThread(await open(), 't')
  expect(await ask('select version, oldest_code from schema_info')).toEqual([{ version: 2, oldest_code: 1 }])
})

test('code of before refuses a schema that needs a newer one', async () => {
  const running = await open()
  await makeThread(running, 't')
  await migrateFurther(2)
  const words = /may use, got schema version 2, which needs at least 2: install a newer version of everthread/
  await expect(openStore(place())).rejects.toThrow(words)
  await expect(prepareStore(place())).rejects.toThrow(words)
  // One that runs is on its way out: what it has begun it may end.
  await makeThread(running, 'u')
})

test('a migration waits in turns for tables that are in use', async () => {
  const old = await createDatabase({ empty: true })
  const holder = new pg.Client({ connectionString: old.url })
  const other = new pg.Client({ connectionString: old.url, statement_timeout: 10_000 })
  try {
    await migratePostgres(old.url)
    for (const client of [holder, other]) await client.connect()
    await holder.query('begin; lock table messages in share mode')
    const migrating = migratePostgres(old.url, [...MIGRATIONS, NEXT])
    await until('the migration to wait', async () => (await other.query(WAITING)).rowCount === 1)
    // Whoever comes behind the migration is let through, again and again.
    for (const _ of [1, 2]) await other.query('select * from messages')
    await holder.query('rollback')
    await migrating
    expect((await other.query('select version from schema_info')).rows).toEqual([{ version: 2 }])
  } finally {
    await holder.end()
    await other.end()
    await old.drop()
  }
})

const WAITING = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table%'"

/** What a later version might do: add a column and an index. */
const NEXT: Migration = {
  version: MIGRATIONS.length + 1,
  oldestCode: 1,
  up: async (db) => void (await sql.raw('alter table messages add column mood text').execute(db)),
}

/** One of three reads. */
function withConnections(connections: number): string {
  const url = new URL(database.url)
  url.searchParams.set('connections', String(connections))
  return url.href
}

async function count(store: Store): Promise<number> {
  return (await store.read((db) => readTranscript(db, 't'))).length
}

async function migrateFurther(oldestCode: number): Promise<void> {
  await ask(nextMigration(oldestCode).join('; '))
}

/** In one transaction. */
async function ask(text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
