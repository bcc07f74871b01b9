import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { migratePostgres } from '../../src/store/postgres/postgres-database.js'
import { makeStoreId } from '../../src/store/store-location.js'

export interface PostgresDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** Copied for each store: a hundred times faster than to migrate one. */
const TEMPLATE = 'everthread_template'
const LOCK = 77_001

/** A database of its own on the run's server, with our schema or empty. */
export async function createDatabase({ empty = false } = {}): Promise<PostgresDatabase> {
  const server = await postgresUrl()
  const name = `t${randomUUID().replaceAll('-', '')}`
  const template = empty ? 'template0' : TEMPLATE
  await administer(server, async (client) => {
    if (!empty) await ensureTemplate(client, server)
    await client.query(`create database ${name} template ${template}`)
  })
  // A copy has the store id of its template: each store of a test needs its own.
  if (!empty)
    await administer(
      urlOf(server, name),
      async (client) => void (await client.query('update schema_info set store_id = $1', [makeStoreId()])),
    )
  return {
    url: urlOf(server, name),
    drop: () =>
      administer(
        server,
        async (client) => void (await client.query(`drop database if exists ${name} with (force)`)),
      ),
  }
}

/**
 * The tables of which a statement has read all rows. The store's connections do so only where no index serves them
 * (`connection-pool.ts`): in a large table such a statement takes seconds, and it has a conflict with every write to the table.
 */
export async function tablesReadWhole(url: string): Promise<readonly string[]> {
  const names: string[] = []
  await administer(url, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select relname::text as name from pg_stat_user_tables where seq_scan > 0 order by 1',
    )
    names.push(...rows.map(({ name }) => name))
  })
  return names
}

/** The calls that have begun and have no decision. */
export async function undecidedCallsIn(url: string): Promise<readonly string[]> {
  const calls: string[] = []
  await administer(url, async (client) => {
    const { rows } = await client.query<{ call: string }>(
      "select thread_id || ' ' || id || ' ' || name as call from tool_calls where started_at is not null and decision is null",
    )
    calls.push(...rows.map(({ call }) => call))
  })
  return calls
}

/** URL of the run's server, which is started when it is first asked for. */
export async function postgresUrl(): Promise<string> {
  const response = await fetch(inject('postgresStarter'))
  const answer = await response.text()
  if (!response.ok) throw new Error(answer)
  return answer
}

async function ensureTemplate(client: pg.Client, server: string): Promise<void> {
  const there = async (): Promise<boolean> =>
    (await client.query('select 1 from pg_database where datname = $1 and datallowconn = false', [TEMPLATE]))
      .rowCount === 1
  if (await there()) return
  // Test files of the run come at the same time.
  await client.query('select pg_advisory_lock($1)', [LOCK])
  if (!(await there())) {
    await client.query(`create database ${TEMPLATE} template template0`)
    await migratePostgres(urlOf(server, TEMPLATE))
    // Nobody may use it any more: a database that is used cannot be copied.
    await client.query(`alter database ${TEMPLATE} with allow_connections false`)
  }
  await client.query('select pg_advisory_unlock($1)', [LOCK])
}

function urlOf(server: string, name: string): string {
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

async function administer(server: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
