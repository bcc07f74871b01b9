import { Kysely, PostgresDialect, sql } from 'kysely'
import type { Dialect } from 'kysely'
import { LIMITS } from '../../protocol/limits.js'
import { readAllEvents } from '../events.js'
import type { SettledRows } from '../events.js'
import type { SchemaDialect } from '../migrations/create-table.js'
import { assertMigrated, migrate } from '../migrations/migrate.js'
import type { Migration } from '../migrations/migrate.js'
import type { Schema } from '../schema.js'
import type { Database } from '../store.js'
import type { TransactionPlace } from '../transaction.js'
import { forgetMarks } from './commit-marks.js'
import { openPool } from './pool.js'
import type { PoolLimits } from './pool.js'
import { asStoreError } from './postgres-error.js'
import { postgresPlace } from './postgres-place.js'
import type { PostgresPlace } from './postgres-place.js'
import { createTransactor, retryPassing } from './transact.js'
import { watchPostgres } from './watch-postgres.js'

export interface PostgresOptions {
  /** Milliseconds, for tests. @default LIMITS.databasePatience */
  readonly patience?: number
  /** Milliseconds, for tests. @default LIMITS.databaseSilence */
  readonly silence?: number
}

/**
 * Opens a database whose schema `everthread setup` has made. @throws StoreError with one sentence on what to do; so do its
 * reads and writes
 */
export async function openPostgres(
  database: string,
  { patience = LIMITS.databasePatience, silence = LIMITS.databaseSilence }: PostgresOptions = {},
): Promise<Database> {
  const place = postgresPlace(database)
  const statement = LIMITS.databaseStatement
  // Apart: a transaction that reads beside itself would otherwise wait for connections that all transactions hold.
  const connections = Math.floor((place.connections - 1) / 2)
  const limits = { connections, patience, statement, silence }
  // A tag that one thread has and one that all have want other plans; writes go by keys.
  const { database: reader } = connect(place, { ...limits, plansEach: true, shares: true })
  const writer = connect(place, { ...limits, plansEach: false, shares: false })
  const watching = watchPostgres(reader, place)
  const transact = createTransactor(writer, { connections, patience })
  const running = new Set<Promise<unknown>>()
  let forgotten = performance.now()
  const close = async (): Promise<void> => {
    await Promise.allSettled(running)
    await watching.end()
    await Promise.all([reader.destroy(), writer.database.destroy()])
  }
  async function told<T>(work: Promise<T>): Promise<T> {
    running.add(work)
    try {
      return await work
    } catch (error) {
      throw asStoreError(error, place.name)
    } finally {
      running.delete(work)
    }
  }
  let id: string
  try {
    id = await told(assertMigrated(reader, POSTGRES_SCHEMA))
  } catch (error) {
    await close()
    throw error
  }
  return {
    id,
    read: (work) => told(retryPassing(() => work(reader), performance.now() + patience)),
    async write(work) {
      const { result, threadIds } = await told(transact(work))
      watching.committed(threadIds)
      if (performance.now() - forgotten > LIMITS.commitMarkSweep) {
        forgotten = performance.now()
        // Nobody waits for it, and the next one has its rows too.
        forgetMarks(reader).catch(() => undefined)
      }
      return result
    },
    watch: (threadId, listener) => watching.watch(threadId, listener),
    readAllEvents: (page) =>
      told(retryPassing(() => readAllEvents(reader, settledRows, page), performance.now() + patience)),
    close,
  }
}

/** The horizon is that of the statement's own snapshot: transactions below it have ended, and the statement sees their rows. */
const settledRows: SettledRows = async (db, { after, limit }) =>
  db
    .selectFrom('events')
    .select(['id', 'thread_id', 'first_sequence', 'sequence', 'at', 'scope', 'events'])
    .select(sql<string>`writer::text`.as('writer'))
    .where(sql<boolean>`writer < pg_snapshot_xmin(pg_current_snapshot())`)
    .where(sql<boolean>`(writer, id) > (${after.writer}::xid8, ${after.id}::bigint)`)
    .orderBy(sql`events.writer`)
    .orderBy('id')
    .limit(limit)
    .execute()

/** Brings a database to this code's schema, once however many processes try. @throws StoreError */
export async function migratePostgres(database: string, migrations?: readonly Migration[]): Promise<void> {
  const place = postgresPlace(database)
  // An index on a large table takes its time; so does the turn of another who migrates.
  const { database: db } = connect(place, {
    connections: 1,
    patience: LIMITS.databasePatience,
    statement: null,
    silence: null,
    plansEach: true,
    shares: false,
  })
  try {
    await retryPassing(
      () => migrate(db, POSTGRES_SCHEMA, migrations),
      performance.now() + LIMITS.migrationPatience,
    )
  } catch (error) {
    throw asStoreError(error, place.name)
  } finally {
    await db.destroy()
  }
}

function connect(place: PostgresPlace, limits: PoolLimits): TransactionPlace {
  const postgres = new PostgresDialect({ pool: openPool(place, limits) })
  const driver = postgres.createDriver()
  const dialect: Dialect = {
    createDriver: () => driver,
    createQueryCompiler: () => postgres.createQueryCompiler(),
    createAdapter: () => postgres.createAdapter(),
    createIntrospector: (db) => postgres.createIntrospector(db),
  }
  const settings = { isolationLevel: 'serializable' } as const
  return { database: new Kysely<Schema>({ dialect }), dialect, driver, settings, pipelined: true }
}

/** Any number will do that no other program uses in this database. */
const LOCK = 4_018_731_105
/** While a change of a table waits for its lock, everybody who comes later waits behind it. */
const TABLE_PATIENCE = '3s'

/** Tables are those of the schema that the connection works in, the first of its search_path. */
const POSTGRES_SCHEMA: SchemaDialect = {
  kind: 'postgres',
  async tables(db) {
    const { rows } = await sql<{ name: string }>`
      select tablename::text as name from pg_tables where schemaname = current_schema()`.execute(db)
    return rows.map(({ name }) => name)
  },
  async columns(db, table) {
    const { rows } = await sql<{ name: string }>`
      select column_name::text as name from information_schema.columns
      where table_schema = current_schema() and table_name = ${sql.lit(table)}`.execute(db)
    return rows.map(({ name }) => name)
  },
  async lock(tx) {
    await sql`select set_config('lock_timeout', '0', true)`.execute(tx)
    await sql`select pg_advisory_xact_lock(${sql.lit(LOCK)})`.execute(tx)
    await sql`select set_config('lock_timeout', ${sql.lit(TABLE_PATIENCE)}, true)`.execute(tx)
  },
  elsewhere: 'name another database, or a schema of its own with ?options=-csearch_path%3Deverthread',
}
