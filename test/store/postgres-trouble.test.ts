import type { AddressInfo, Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { transactionStatus } from '../../src/store/postgres/transactor.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/postgres-database.js'
import type { PostgresOptions } from '../../src/store/postgres/postgres-database.js'
import type { Schema } from '../../src/store/schema.js'
import type { Database } from '../../src/store/store.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { freePort } from '../support/free-port.js'
import { POSTGRES_PASSWORD, POSTGRES_USER, startPostgres } from '../support/postgres-server.js'
import type { PostgresServer } from '../support/postgres-server.js'
import { NOW } from './conformance/with-store.js'
import { COMMIT, cuttingProxy, endingProxy, silentProxy } from './postgres-proxies.js'

let server: PostgresServer
let url: string
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  server = await startPostgres()
  url = server.url('threads')
  await ask(server.url('postgres'), 'create database threads')
  await migratePostgres(url)
  await ask(url, "create role few login password 'of few' connection limit 1")
  await ask(url, 'create role stranger login password $$of strangers$$')
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})
afterAll(() => server.stop())

async function open(place = url, options: PostgresOptions = {}): Promise<Database> {
  const database = await openPostgres(place, options)
  opened.push(database)
  return database
}

async function newThread(database: Database, id: string): Promise<void> {
  await database.write((tx) => insertThread(tx, { id, agent: 'support', created_at: NOW }))
}

const append = (database: Database, threadId: string, id: string) =>
  database.write((tx) =>
    appendMessage(tx, { id, threadId, role: 'user', content: id, createdAt: NOW, sentBy: 'client' }),
  )

/** Each message once, and no gap. */
async function expectWhole(database: Database, threadId: string, count: number): Promise<void> {
  const rows = await database.read((db) => readTranscript(db, threadId))
  expect(rows.map(({ position }) => position)).toEqual(countTo(count))
  expect(new Set(rows.map(({ id }) => id)).size).toBe(count)
}

test('a server that is killed and comes back loses and doubles nothing', async () => {
  const database = await open()
  await newThread(database, 'killed')
  const writers = countTo(4).map(async (writer) => {
    for (const number of countTo(60)) await append(database, 'killed', `killed-${writer}-${number}`)
  })
  await appearing(database, 'killed', 50)
  await server.kill()
  await server.start()
  await Promise.all(writers)
  await expectWhole(database, 'killed', 240)
})

test('a server that is restarted in good order loses nothing', async () => {
  const database = await open()
  await newThread(database, 'restarted')
  const writing = Promise.all(
    countTo(100).map((number) => append(database, 'restarted', `restarted-${number}`)),
  )
  await appearing(database, 'restarted', 10)
  await server.pause()
  await server.start()
  await writing
  await expectWhole(database, 'restarted', 100)
})

test('connections that are cut again and again lose and double nothing', async () => {
  const database = await open()
  await newThread(database, 'cut')
  let done = false
  const writing = Promise.all(countTo(60).map((number) => append(database, 'cut', `cut-${number}`))).finally(
    () => (done = true),
  )
  while (!done)
    await ask(
      server.url('postgres'),
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'threads' and random() < 0.2",
    )
  await writing
  await expectWhole(database, 'cut', 60)
})

test('a process lives on whenever the server ends its connections', async () => {
  const unheard = unheardErrors()
  const database = await open()
  await newThread(database, 'ended')
  let told = 0
  database.watch('ended', () => void (told += 1))
  let done = false
  let pause = 15
  const writing = Promise.all(countTo(40).map((number) => append(database, 'ended', `ended-${number}`)))
  const opening = (async () => {
    while (!done) await openPostgres(url).then((other) => other.close(), expectUnavailable)
  })()
  const working = Promise.all([writing.finally(() => (done = true)), opening])
  while (!done) {
    await ask(
      server.url('postgres'),
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'threads'",
    )
    // Long enough for one transaction, or none would ever end: on a busy machine one takes longer, and then longer still.
    pause *= 1.02
    await delay(pause + Math.random() * pause)
  }
  await working
  await expectWhole(database, 'ended', 40)
  expect(told).toBeGreaterThan(0)
  expect(unheard()).toEqual([])
})

test('a connection that ends in the moment it opens is made again', async () => {
  const unheard = unheardErrors()
  const { proxy, endNext } = await endingProxy(server.port)
  opened.push({ close: async () => proxy.close() })
  const database = await open(through(proxy))
  endNext(4)
  await newThread(database, 'opened')
  await append(database, 'opened', 'opened')
  await expectWhole(database, 'opened', 1)
  expect(unheard()).toEqual([])
})

test.each(['before', 'after'] as const)(
  'a commit whose connection ends %s it happens is done once',
  async (when) => {
    const proxy = await cuttingProxy(server.port, when)
    opened.push({ close: async () => proxy.close() })
    const database = await open(through(proxy))
    expect(await timesRun(database, when)).toBe(when === 'before' ? 2 : 1)
    await expectWhole(database, when, 1)
  },
)

test.each([
  ['a statement', 'during', 'cut here', 2],
  ['a commit', 'at-end', COMMIT, 2],
  ['the answer to a commit', 'after', 'COMMIT', 1],
] as const)('a connection silent from %s on is done once', async (_what, when, word, runs) => {
  const proxy = await silentProxy(server.port, word)
  opened.push({ close: async () => proxy.close() })
  const database = await open(through(proxy), { silence: 3_000 })
  expect(await timesRun(database, `silent-${when}`)).toBe(runs)
  await expectWhole(database, `silent-${when}`, 1)
})

test('T2 a commit that nobody can be asked about is not done again', async () => {
  const proxy = await cuttingProxy(server.port, 'after')
  opened.push({ close: async () => proxy.close() })
  const database = await open(through(proxy), { patience: 4_000 })
  await newThread(database, 'undecided')
  let runs = 0
  proxy.on('connection', (socket) => runs > 0 && socket.destroy())
  const writing = database.write(async (tx) => {
    runs += 1
    await updateThread(tx, 'undecided', { title: 'cut here' })
  })
  await expect(writing).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('it may be done'),
  })
  expect(runs).toBe(1)
})

test('a transaction that the server never began is not committed', async () => {
  const database = await open()
  const status = await database.read((db) => transactionStatus(db as Kysely<Schema>, '999999999999'))
  expect(status).toBeNull()
})

test('a row that another session keeps locked is busy, soon', async () => {
  const database = await open(url, { patience: 3_000 })
  await newThread(database, 'locked')
  const holder = new pg.Client({ connectionString: url })
  await holder.connect()
  opened.push({ close: () => holder.end() })
  await holder.query("begin; update threads set title = 'mine' where id = 'locked'")
  const since = performance.now()
  await expect(database.write((tx) => updateThread(tx, 'locked', { title: 'ours' }))).rejects.toMatchObject({
    code: 'busy',
    message: expect.stringContaining('another session keeps locked: end that session'),
  })
  expect(performance.now() - since).toBeLessThan(30_000)
  await holder.query('rollback')
  await database.write((tx) => updateThread(tx, 'locked', { title: 'ours' }))
})

test('a server that is away is said to be, after the patience', async () => {
  const database = await open(url, { patience: 2_000 })
  await server.pause()
  const failing = database.read((db) => readTranscript(db, 'killed'))
  await expect(failing).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('does not answer'),
  })
  await server.start()
  await database.read((db) => readTranscript(db, 'killed'))
})

test.each([
  [
    'a wrong password',
    (right: string) => right.replace(POSTGRES_PASSWORD, 'hunter2'),
    'refused the user or its password',
  ],
  [
    'a missing database',
    (right: string) => right.replace('/threads', '/nothing'),
    'does not exist: make it with createdb',
  ],
  [
    'a wrong host',
    (right: string) => right.replace('127.0.0.1', 'no-such-host.invalid'),
    'host that is not known',
  ],
  [
    'a user without rights',
    (right: string) => right.replace(`${POSTGRES_USER}:${POSTGRES_PASSWORD}`, 'stranger:of strangers'),
    'as the owner of the schema',
  ],
])('%s is named, with what to do', async (_case, wrong, words) => {
  const error: unknown = await open(wrong(url)).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(words) })
  expect(String(error)).not.toMatch(/hunter2|a-password-of-tests|of strangers/)
})

test('a port where nobody listens is named, with what to do', async () => {
  const error: unknown = await open(url.replace(`:${server.port}`, `:${await freePort()}`)).catch(
    (thrown: unknown) => thrown,
  )
  expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('start the server') })
})

test('too many connections are named, with what to do', async () => {
  const few = url.replace(`${POSTGRES_USER}:${POSTGRES_PASSWORD}`, 'few:of few')
  const holder = new pg.Client({ connectionString: few })
  await holder.connect()
  opened.push({ close: () => holder.end() })
  await expect(open(few)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('raise max_connections, or lower ?connections='),
  })
})

function expectUnavailable(error: unknown): void {
  expect(error).toMatchObject({ code: 'unavailable' })
}

async function appearing(database: Database, threadId: string, count: number): Promise<void> {
  while ((await database.read((db) => readTranscript(db, threadId))).length < count);
}

function through(proxy: Server): string {
  return url.replace(`:${server.port}/`, `:${(proxy.address() as AddressInfo).port}/`)
}

/** How often the work of one write ran, whose first statement says `cut here`. */
async function timesRun(database: Database, id: string): Promise<number> {
  await newThread(database, id)
  let runs = 0
  const message = { id, threadId: id, role: 'user', content: 'x', createdAt: NOW, sentBy: 'client' } as const
  await database.write(async (tx) => {
    runs += 1
    await updateThread(tx, id, { title: 'cut here' })
    await appendMessage(tx, message)
  })
  return runs
}

/** Errors that would have ended a process, since now. */
function unheardErrors(): () => readonly unknown[] {
  const unheard: unknown[] = []
  const note = (error: unknown): void => void unheard.push(error)
  const events = ['uncaughtException', 'unhandledRejection'] as const
  for (const event of events) process.on(event, note)
  opened.push({
    close: async () => {
      for (const event of events) process.off(event, note)
    },
  })
  return () => unheard
}

async function ask(place: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: place })
  await client.connect()
  await client.query(text)
  await client.end()
}

function countTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
