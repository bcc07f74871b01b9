import { Kysely, PostgresDialect } from 'kysely'
import type { CompiledQuery } from 'kysely'
import pg from 'pg'
import { migratePostgres } from '../../src/store/postgres/postgres-database.js'
import { connectionConfig } from '../../src/store/postgres/connection-pool.js'
import { postgresPlace } from '../../src/store/postgres/postgres-place.js'
import type { Schema } from '../../src/store/schema.js'
import { startPostgres } from '../../test/support/postgres-server.js'
import type { BenchResult } from '../figure.js'
import { machineWith } from '../machine.js'
import { CLIENT_READS } from './client-reads.js'
import { fill } from './fill.js'
import { judgePlan } from './judge-plan.js'
import type { Judged, PlanNode } from './judge-plan.js'

const AMOUNT = { messages: Number(process.env['EVERTHREAD_BENCH_MESSAGES'] ?? 1_000_000), threads: 50_000 }
/** A table below this is read whole at once. */
const LARGE = 1000

/** How PostgreSQL answers each read of the client on a million messages. @throws if one reads or sorts a whole table */
export async function explainBench(): Promise<BenchResult & { readonly machine: readonly string[] }> {
  const server = await startPostgres()
  try {
    await ask(server.url('postgres'), (client) => client.query('create database explain'))
    const url = server.url('explain')
    await migratePostgres(url)
    // As the store connects.
    return await ask(url, async (client) => {
      const since = performance.now()
      await fill(client, AMOUNT)
      const seconds = Math.round((performance.now() - since) / 1000)
      const plans = await explainAll(client, url)
      const { rows } = await client.query<{ server_version: string }>('show server_version')
      return {
        ...resultOf(plans),
        notes: [`${AMOUNT.messages} messages of ${AMOUNT.threads} threads, filled in ${seconds} s`],
        machine: machineWith(`PostgreSQL ${rows[0]?.server_version}`),
      }
    })
  } finally {
    await server.stop()
  }
}

interface Explained extends Judged {
  readonly name: string
  readonly statements: number
  /** In the database, planning included. */
  readonly milliseconds: number
}

async function explainAll(client: pg.Client, url: string): Promise<readonly Explained[]> {
  const { rows } = await client.query<{ name: string }>(
    `select relname::text as name from pg_class where relkind = 'r' and reltuples > ${LARGE}`,
  )
  const large = new Set(rows.map(({ name }) => name))
  const queries: CompiledQuery[] = []
  const pool = new pg.Pool(connectionConfig(postgresPlace(url)))
  const database = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void queries.push(query),
  })
  const explained: Explained[] = []
  for (const [name, read] of Object.entries(CLIENT_READS)) {
    queries.length = 0
    await read(database)
    explained.push(await explain(client, { name, queries: [...queries], large }))
  }
  await database.destroy()
  return explained
}

interface Read {
  readonly name: string
  readonly queries: readonly CompiledQuery[]
  readonly large: ReadonlySet<string>
}

async function explain(client: pg.Client, { name, queries, large }: Read): Promise<Explained> {
  const judged: Judged[] = []
  let milliseconds = 0
  for (const { sql, parameters } of queries) {
    // The first run brings pages into memory.
    for (const _ of [1, 2]) await client.query(sql, [...parameters])
    const { rows } = await client.query<{ 'QUERY PLAN': readonly [Answer] }>(
      `explain (analyze, format json) ${sql}`,
      [...parameters],
    )
    const answer = rows[0]?.['QUERY PLAN'][0]
    if (answer === undefined) throw new Error(`Expected a plan of "${name}", got none`)
    milliseconds += answer['Planning Time'] + answer['Execution Time']
    judged.push(judgePlan(answer.Plan, large))
  }
  return {
    name,
    statements: queries.length,
    milliseconds,
    ways: [...new Set(judged.flatMap(({ ways }) => ways))],
    rows: judged.reduce((sum, { rows }) => sum + rows, 0),
    problems: judged.flatMap(({ problems }) => problems),
  }
}

interface Answer {
  readonly Plan: PlanNode
  readonly 'Planning Time': number
  readonly 'Execution Time': number
}

function resultOf(plans: readonly Explained[]): Omit<BenchResult, 'notes'> {
  const bad = plans.filter(({ problems }) => problems.length > 0)
  if (bad.length > 0) process.exitCode = 1
  const longest = Math.max(...plans.map(({ milliseconds }) => milliseconds))
  return {
    figures: [
      { bench: 'explain', figure: 'reads', value: plans.length, unit: 'reads' },
      { bench: 'explain', figure: 'reads_without_index', value: bad.length, unit: 'reads' },
      { bench: 'explain', figure: 'longest_read', value: longest, unit: 'ms' },
    ],
    table: [
      ['read', 'statements', 'rows', 'ms', 'by'],
      ...plans.map(({ name, statements, rows, milliseconds, ways, problems }) => [
        name,
        String(statements),
        String(Math.round(rows)),
        milliseconds.toFixed(2),
        [...ways, ...problems.map((problem) => `PROBLEM: ${problem}`)].join(', '),
      ]),
    ],
  }
}

async function ask<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connectionConfig(postgresPlace(url)))
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
