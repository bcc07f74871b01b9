import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { noteFleeting } from '../../src/store/changes.js'
import { appendDelta, readDeltas } from '../../src/store/deltas.js'
import type { Database } from '../../src/store/database.js'
import { migratePostgres, openPostgres } from '../../src/store/postgres/open-postgres.js'
import { insertThread } from '../../src/store/threads.js'
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
  await admin.end()
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
