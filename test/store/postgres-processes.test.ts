import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { anyFact } from '../support/any-fact.js'
import { appendEvents, readEvents } from '../../src/store/events.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { findThread, updateThread } from '../../src/store/threads/threads.js'
import { createDatabase } from '../support/postgres-database.js'
import type { PostgresDatabase } from '../support/postgres-database.js'
import { until } from '../support/until.js'
import { makeThread, NOW } from './conformance/with-store.js'
import { killCharges } from './kill-charges.js'
import { runProcess } from './processes/run-process.js'
import type { StoreProcess } from './processes/run-process.js'
import { WATCH_FALLBACK } from '../../src/store/postgres/postgres-watch.js'

let folder = ''
let database: PostgresDatabase
const started: StoreProcess[] = []
const opened: Store[] = []

const place = () => ({ database: database.url, blobs: join(folder, 'blobs') })

function start(job: string, ...options: readonly string[]): StoreProcess {
  const child = runProcess(job, place(), ...options)
  started.push(child)
  return child
}

async function open(): Promise<Store> {
  const store = await openStore(place())
  opened.push(store)
  return store
}

beforeEach(async ({ task }) => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-processes-'))
  database = await createDatabase({ empty: task.name.includes('set up') })
})

afterEach(async () => {
  for (const child of started.splice(0)) await child.kill()
  for (const store of opened.splice(0)) await store.close()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

test('kills at any point of a charged request leave nothing held, and nothing uncounted', async () => {
  await killCharges(await open(), (thread) => start('charge', thread))
}, 600_000)

test('processes share a limit, and get exactly as many uses as it allows', async () => {
  const store = await open()
  await Promise.all(['a', 'b'].map((name) => start('take', name, '80', '100').ended()))
  const got = await store.read((db) => db.selectFrom('thread_values').select('value').execute())
  expect(got.reduce((sum, { value }) => sum + Number(value), 0)).toBe(100)
  expect(got).toHaveLength(2)
})

test('processes write one thread side by side, without gaps', async () => {
  const store = await open()
  await makeThread(store, 't')
  const children = ['a', 'b', 'c'].map((name) => start('append', name, '100'))
  await Promise.all(children.map((child) => child.ended()))
  const transcript = await store.read((db) => readTranscript(db, 't'))
  const events = await store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 1000 }))
  expect(transcript.map((message) => message.position)).toEqual(countTo(300))
  expect(events.map((event) => event.sequence)).toEqual(countTo(600))
  expect(new Set(transcript.map((message) => message.id)).size).toBe(300)
})

test('writers of different threads do not wait for each other', async () => {
  const [store, other] = [await open(), await open()]
  for (const id of ['t', 'u']) await makeThread(store, id)
  await store.write(async (tx) => {
    await updateThread(tx, 't', { title: 'one' })
    await other.write((second) => updateThread(second, 'u', { title: 'two' }))
    expect((await other.read((db) => findThread(db, 'u')))?.title).toBe('two')
  })
  expect((await other.read((db) => findThread(db, 't')))?.title).toBe('one')
})

test('a commit by another process tells who watches', async () => {
  const store = await open()
  await makeThread(store, 't')
  const listening = await watching(store)
  await start('append', 'a', '1').ended()
  await until('to be told', () => listening.told > 0)
})

test('a commit is told long before anybody looks by itself', async () => {
  const [store, other] = [await open(), await open()]
  await makeThread(store, 't')
  const listening = await watching(store)
  const since = performance.now()
  for (const number of countTo(10)) {
    await other.write((tx) => appendEvents(tx, { threadId: 't', events: [anyFact('one', {})], now: NOW }))
    await until('to be told', () => listening.told >= number)
  }
  // Ten looks would take ten seconds.
  expect(performance.now() - since).toBeLessThan(8 * WATCH_FALLBACK)
})

test('threads with any characters in their ids are told at once', async () => {
  const ids = ['order 17', 'a\0b', '\uFDD0', 'ä"😀', ...countTo(9).map((n) => `${n}${'\u0001'.repeat(199)}`)]
  const [store, other] = [await open(), await open()]
  for (const id of ids) await makeThread(store, id)
  const told = new Map<string, number>()
  for (const id of ids) store.watch(id, () => void told.set(id, (told.get(id) ?? 0) + 1))
  await until('all to be told at first', () => told.size === ids.length)
  const since = performance.now()
  for (const _round of countTo(10)) {
    told.clear()
    await other.write(async (tx) => {
      for (const threadId of ids) await appendEvents(tx, { threadId, events: [anyFact('one', {})], now: NOW })
    })
    await until('all to be told', () => told.size === ids.length)
  }
  expect(performance.now() - since).toBeLessThan(8 * WATCH_FALLBACK)
})

test('a commit whose notification is lost is found all the same', async () => {
  const store = await open()
  await makeThread(store, 't')
  const listening = await watching(store)
  await until('the first look', () => listening.told > 0)
  const before = listening.told
  await query(`update threads set last_sequence = 1 where id = 't'`)
  await until('to be told', () => listening.told > before)
})

test('a listener whose connection is cut listens again', async () => {
  const [store, other] = [await open(), await open()]
  await makeThread(store, 't')
  const listening = await watching(store)
  await query("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'")
  await until('to listen again', () => listening.told > 0)
  const before = listening.told
  await other.write((tx) => appendEvents(tx, { threadId: 't', events: [anyFact('one', {})], now: NOW }))
  await until('to be told', () => listening.told > before)
})

test('a kill in the middle of a transaction leaves nothing half', async () => {
  const store = await open()
  await makeThread(store, 't')
  const child = start('hang')
  await child.said('in the middle')
  expect(await store.read((db) => readTranscript(db, 't'))).toEqual([])
  await child.kill()
  await store.write((tx) => updateThread(tx, 't', { title: 'free again' }))
  expect(await store.read((db) => readTranscript(db, 't'))).toEqual([])
  expect(await store.read((db) => findThread(db, 't'))).toMatchObject({
    title: 'free again',
    last_position: 0,
  })
})

test('a database that is set up by many at once is migrated once', async () => {
  const children = ['a', 'b', 'c', 'd'].map(() => start('setup'))
  await Promise.all(children.map((child) => child.ended()))
  expect(await query('select version from schema_info')).toEqual([{ version: 1 }])
  await makeThread(await open(), 't')
})

test('a database that nobody has set up is refused, naming the command', async () => {
  await expect(open()).rejects.toMatchObject({
    code: 'incompatible',
    message: expect.stringMatching(/got an empty database: run "npx everthread setup" first$/),
  })
  expect(await query('select 1 as one from pg_tables where schemaname = current_schema()')).toEqual([])
})

test('a store from before the first release is refused', async () => {
  await (await open()).close()
  await query('alter table operations drop column run')
  const message = expect.stringMatching(/before its first release.* make the store anew/)
  await expect(open()).rejects.toMatchObject({ code: 'incompatible', message })
})

test('the tables of another program in what is to be set up stay alone', async () => {
  await query('create table orders (id int)')
  await expect(start('setup').ended()).rejects.toThrow('got the tables of another program')
  expect(await query('select tablename from pg_tables where schemaname = current_schema()')).toEqual([
    { tablename: 'orders' },
  ])
})

interface Listening {
  readonly told: number
}

/** Begins with its connection: from then on only commits tell. */
async function watching(store: Store): Promise<Listening> {
  let told = 0
  store.watch('t', () => (told += 1))
  await until('to listen', () => told > 0)
  const before = told
  return {
    get told() {
      return told - before
    },
  }
}

async function query(text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(text)
  await client.end()
  return rows
}

function countTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
