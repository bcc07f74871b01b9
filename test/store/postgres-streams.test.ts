import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStreamedText, FLEETING } from '../../src/activities/turn/deltas.js'
import type { ModelStep } from '../../src/activities/turn/model-step.js'
import { noteFleeting } from '../../src/store/changes.js'
import { appendDelta, readDeltas } from '../../src/store/messages/deltas.js'
import { insertOperation } from '../../src/store/operations.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/postgres-database.js'
import type { Database, Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { startPostgres } from '../support/postgres-server.js'
import type { PostgresServer } from '../support/postgres-server.js'
import { until } from '../support/until.js'
import { NOW } from './conformance/with-store.js'

let server: PostgresServer
let database: Database
let admin: pg.Client

beforeAll(async () => {
  server = await startPostgres()
  const url = server.url('postgres')
  await migratePostgres(url)
  database = await openPostgres(url)
  admin = new pg.Client({ connectionString: url })
  await admin.connect()
})
afterAll(async () => {
  // Its server was killed.
  await admin.end().catch(() => undefined)
  await database.close()
  await server.stop()
})

/** A standby that is not there: a commit that waits until it is kept waits for ever, as for a disk that is slow. */
async function commitsWaitFor(standby: string): Promise<void> {
  await admin.query(`alter system set synchronous_standby_names = '${standby}'`)
  await admin.query('select pg_reload_conf()')
  await until('the setting', async () => {
    const { rows } = await admin.query<{ synchronous_standby_names: string }>(
      'show synchronous_standby_names',
    )
    return rows[0]?.synchronous_standby_names === standby
  })
}

async function waitingCommits(): Promise<number> {
  const { rows } = await admin.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where wait_event = 'SyncRep'`,
  )
  return rows[0]?.count ?? 0
}

test('what streams is seen before it is kept', async () => {
  await commitsWaitFor('nobody')
  const delta = { threadId: 't', messageId: 'm', attempt: 1, kind: 'text', offset: 0, text: 'Hello' } as const
  await database.write(async (tx) => {
    noteFleeting(tx)
    await appendDelta(tx, delta)
  })
  expect(await database.read((db) => readDeltas(db, 't'))).toMatchObject([delta])
  expect(await waitingCommits()).toBe(0)
})

test('all else is kept before it is answered', async () => {
  await commitsWaitFor('nobody')
  const writing = database.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: NOW }))
  await until('the commit to wait', async () => (await waitingCommits()) === 1)
  await commitsWaitFor('')
  await writing
})

/** What a model step has of it that streams, of a thread that is there. */
const STEP = {
  input: { threadId: 't', run: 1, step: 1, frame: null },
  messageId: 'streamed',
  operation: { threadId: 't', id: 'model_1_1', attempt: 1 },
} as unknown as ModelStep

/** A stream of words, each written on its own; nothing of it is on the disk at once. */
async function beginStream() {
  await database.write(async (tx) => {
    const operation = { kind: 'model', state: 'started', attempt: 1, started_at: NOW } as const
    await tx.deleteFrom('operations').execute()
    await tx.deleteFrom('deltas').execute()
    await insertOperation(tx, { thread_id: 't', id: 'model_1_1', ...operation })
  })
  admin.removeAllListeners('error').on('error', () => undefined)
  const streamed = createStreamedText(database as unknown as Store, STEP)
  let written = ''
  return {
    get written() {
      return written
    },
    async append(text: string): Promise<void> {
      const offset = written.length
      const place = { threadId: 't', messageId: 'streamed', attempt: 1, kind: 'text' } as const
      written += text
      expect(await streamed.append([{ ...place, offset, text }])).toBe(true)
    },
  }
}

test('live text that a killed server forgot is written again', async () => {
  // Nothing but a commit that waits for the disk writes what came before it there.
  await admin.query(`alter system set wal_writer_delay = '10s'`)
  await admin.query('select pg_reload_conf()')
  const stream = await beginStream()
  for (const word of ['one ', 'two ', 'three ']) await stream.append(word)
  const before = await streamedText()
  expect(before).toBe('one two three ')
  await server.kill()
  await server.start()
  expect(await streamedText()).not.toBe(before)
  await until('all of it', async () => {
    await stream.append('more ')
    return (await streamedText()) === stream.written
  })
})

test('so is what came before a write that waited for it', async () => {
  const stream = await beginStream()
  for (const word of ['one ', 'two ', 'three ']) await stream.append(word)
  await server.kill()
  const since = performance.now()
  const riding = stream.append('four ')
  await until('it to be away for long', () => performance.now() - since > FLEETING + 500)
  await server.start()
  await riding
  expect(await streamedText()).toBe(stream.written)
})

/** From its beginning, as far as it has no gap. */
async function streamedText(): Promise<string> {
  let whole = ''
  for (const { messageId, offset, text } of await database.read((db) => readDeltas(db, 't')))
    if (messageId === 'streamed' && offset <= whole.length) whole += text.slice(whole.length - offset)
  return whole
}
