import type { AddressInfo, Server } from 'node:net'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anyFact } from '../support/any-fact.js'
import { appendEvents, lastSequence, readEvents } from '../../src/store/events.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { readTranscript } from '../../src/store/messages/transcript.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/postgres-database.js'
import type { Database, Writer } from '../../src/store/store.js'
import { findThread, insertThread, updateThread } from '../../src/store/threads/threads.js'
import { pipeline } from '../../src/store/transaction.js'
import { startPostgres } from '../support/postgres-server.js'
import type { PostgresServer } from '../support/postgres-server.js'
import { NOW } from './conformance/with-store.js'
import { countingProxy } from './postgres-proxies.js'

let server: PostgresServer
let counting: { proxy: Server; sent(): number }
let database: Database

beforeAll(async () => {
  server = await startPostgres()
  const url = server.url('postgres')
  await migratePostgres(url)
  counting = await countingProxy(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String((counting.proxy.address() as AddressInfo).port)
  database = await openPostgres(through.href)
  await database.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: NOW }))
  // The connections are there, and know the statements.
  await answerOnce('first')
  await readThrice()
})
afterAll(async () => {
  await database.close()
  counting.proxy.close()
  await server.stop()
})

const answerOnce = (id: string) =>
  database.write(async (tx) => {
    const message = { id, threadId: 't', role: 'assistant', content: id, createdAt: NOW } as const
    await appendMessage(tx, { ...message, sentBy: 'model' })
    await appendEvents(tx, { threadId: 't', events: [anyFact('one', {}), anyFact('two', {})], now: NOW })
  })

const readThrice = () =>
  database.read((db) =>
    Promise.all([findThread(db, 't'), readTranscript(db, 't'), lastSequence(db, 't')] as const),
  )

async function piecesOf(work: () => Promise<unknown>): Promise<number> {
  const before = counting.sent()
  await work()
  return counting.sent() - before
}

test('a transaction of seven statements is sent in three pieces', async () => {
  // One that tells other processes of the change may follow.
  expect(await piecesOf(() => answerOnce('second'))).toBeLessThanOrEqual(4)
})

test('reads of one moment are sent in one piece', async () => {
  const pieces = await piecesOf(async () => {
    const [thread, transcript, sequence] = await readThrice()
    expect([thread?.id, transcript.length, sequence]).toEqual(['t', 2, 4])
  })
  expect(pieces).toBe(1)
})

test('the first statement runs in the transaction that it begins', async () => {
  const isolation = (tx: Writer) =>
    sql<{ is: string }>`select current_setting('transaction_isolation') as is`.execute(tx)
  const { rows } = await database.write((tx) => isolation(tx))
  expect(rows).toEqual([{ is: 'serializable' }])
})

test('a first statement that could not be planned is planned the next time', async () => {
  // Its connections wait for locks as long as it has patience.
  const hurried = await openPostgres(server.url('postgres'), { patience: 4_000 })
  const holder = new pg.Client(server.url('postgres'))
  await holder.connect()
  await holder.query('begin; lock table messages in access exclusive mode')
  const first = () =>
    hurried.write((tx) => sql<{ id: string }>`select id from messages where id = ${'first'}`.execute(tx))
  await expect(first()).rejects.toMatchObject({ code: 'busy' })
  await holder.end()
  for (let round = 0; round < 12; round += 1) expect((await first()).rows).toEqual([{ id: 'first' }])
  await hurried.close()
})

/** Of all connections: one whose rollback is cancelled is replaced by another. */
const CANCEL_ALL = `select pg_cancel_backend(pid), pg_sleep(0.001) from pg_stat_activity
  where pid <> pg_backend_pid() and backend_type = 'client backend'`

test('a transaction whose beginning is cancelled leaves nothing', async () => {
  const others = new pg.Client(server.url('postgres'))
  await others.connect()
  let cancelling = true
  const cancelled = (async () => {
    while (cancelling) await others.query(CANCEL_ALL)
  })()
  const failed: string[] = []
  // On a busy machine few of the cancellations meet a beginning.
  const until = performance.now() + 40_000
  const isEnough = (): boolean => failed.length >= 20 || (failed.length > 3 && performance.now() > until)
  for (let number = 0; !isEnough(); number += 1) {
    const type = `cancelled-${number}`
    const write = database.write(async (tx) => {
      pipeline(tx, updateThread(tx, 't', { title: type }))
      await appendEvents(tx, { threadId: 't', events: [anyFact(type, {})], now: NOW })
    })
    await write.catch(() => void failed.push(type))
  }
  cancelling = false
  await cancelled
  await others.end()
  const events = await database.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 100_000 }))
  const stored = new Set(events.map(({ type }) => type))
  expect(failed.length).toBeGreaterThan(3)
  expect(failed.filter((type) => stored.has(type))).toEqual([])
})

test('a first statement that fails leaves a connection as good as new', async () => {
  const failing = () => database.write((tx) => sql`select 1 / 0`.execute(tx))
  for (let round = 0; round < 12; round += 1) await expect(failing()).rejects.toThrow('division by zero')
  await answerOnce('third')
  const [, transcript] = await readThrice()
  expect(transcript.map(({ id, position }) => [id, position])).toContainEqual(['third', 3])
})
