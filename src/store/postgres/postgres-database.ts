import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { readAllEvents, readCursorBefore, readEventEnds } from '../events.js'
import type { CommitOrder } from '../events.js'
import type { SchemaDialect, Migration } from '../migrations/schema-version.js'
import { assertMigrated, migrate } from '../migrations/schema-version.js'
import type { Schema } from '../schema.js'
import type { Database } from '../store.js'
import { locksRows } from '../transaction.js'
import { forgetMarks, createTransactor, retryPassing } from './transactor.js'
import { openConnections } from './connection-pool.js'
import { asStoreError } from './postgres-error.js'
import { postgresPlace } from './postgres-place.js'
import { watchPostgres } from './postgres-watch.js'

/** How long opening, a read or a write waits for others in all: activities retry after it, people see a sentence. */
const PATIENCE = 30_000

/** Statements take milliseconds; the longest, of a migration, has no limit. */
const STATEMENT_TIMEOUT = 30_000

/** Longer than any statement may take: a network that fails without an error. */
const SILENCE = 40_000

/** Transactions that wait for the same row at the same time: more of them would only keep connections from others. */
const LOCKING = 4

/** How often commit marks that are older than `COMMIT_MARK_AGE` are deleted. */
const COMMIT_MARK_SWEEP = 60_000

/** How long a migration tries to lock tables that others use: it waits in turns, so that the others never wait for it. */
const MIGRATION_PATIENCE = 300_000

export interface PostgresOptions {
  /** Milliseconds, for tests. @default PATIENCE */
  readonly patience?: number
  /** Milliseconds, for tests. @default SILENCE */
  readonly silence?: number
}

/**
 * Opens a database whose schema `everthread setup` has made.
 * @throws StoreError with one sentence on what to do, as its reads and writes do
 */
export async function openPostgres(
  database: string,
  { patience = PATIENCE, silence = SILENCE }: PostgresOptions = {},
): Promise<Database> {
  const place = postgresPlace(database)
  // Two pools: a read within the work of a transaction could otherwise wait for a connection while transactions hold all.
  const connections = Math.floor((place.connections - 1) / 2)
  const limits = { connections, patience, statement: STATEMENT_TIMEOUT, silence }
  // Reads need a plan for their values: a tag may be on one thread or on all. Writes use keys.
  const { database: reader } = openConnections(place, { ...limits, plansEach: true, shares: true })
  const writer = openConnections(place, { ...limits, plansEach: false, shares: false })
  const watching = watchPostgres(reader, place)
  const transact = createTransactor(writer, { connections, patience })
  const transactLocked = createLockingTransactor(writer, { connections, patience })
  const running = new Set<Promise<unknown>>()
  const sweepMarks = createMarkSweep(reader)
  const close = async (): Promise<void> => {
    await Promise.allSettled(running)
    await watching.end()
    await Promise.all([reader.destroy(), writer.database.destroy()])
  }
  async function withStoreErrors<T>(work: Promise<T>): Promise<T> {
    running.add(work)
    try {
      return await work
    } catch (error) {
      throw asStoreError(error, place.name)
    } finally {
      running.delete(work)
    }
  }
  const retried = <T>(work: () => Promise<T>): Promise<T> =>
    withStoreErrors(retryPassing(work, performance.now() + patience))
  async function announce<T>(committing: ReturnType<typeof transact<T>>): Promise<T> {
    const { result, threadIds, stopped } = await withStoreErrors(committing)
    watching.announceCommit(threadIds)
    watching.announceStops(stopped)
    sweepMarks()
    return result
  }
  let id: string
  try {
    id = await withStoreErrors(assertMigrated(reader, POSTGRES_SCHEMA))
  } catch (error) {
    await close()
    throw error
  }
  return {
    id,
    // Not of the beginning of the transaction: one that waited would be behind the one that it waited for.
    clock: sql<number>`extract(epoch from clock_timestamp())::float8`,
    read: (work) => retried(() => work(reader)),
    write: (work) => announce(transact(work)),
    writeLocked: (work) => announce(transactLocked(work)),
    locksRows: locksRows(writer.database),
    watch: (threadId, listener) => watching.watch(threadId, listener),
    watchStops: (threadId, listener) => watching.watchStops(threadId, listener),
    readAllEvents: (page) => retried(() => readAllEvents(reader, COMMIT_ORDER, page)),
    readCursorBefore: (event) => retried(() => readCursorBefore(reader, COMMIT_ORDER, event)),
    readEventEnds: () => retried(() => readEventEnds(reader, COMMIT_ORDER)),
    close,
  }
}

function createLockingTransactor(
  writer: Parameters<typeof createTransactor>[0],
  { connections, patience }: Parameters<typeof createTransactor>[1],
): ReturnType<typeof createTransactor> {
  const place = { ...writer, settings: { isolationLevel: 'read committed' } } as const
  return createTransactor(place, { connections: Math.min(LOCKING, connections), patience })
}

/** Deletes old commit marks, behind a commit, once in a while. */
function createMarkSweep(reader: Kysely<Schema>): () => void {
  let sweptAt = performance.now()
  return () => {
    if (performance.now() - sweptAt <= COMMIT_MARK_SWEEP) return
    sweptAt = performance.now()
    // Not awaited: after a failure the next sweep deletes these rows too.
    forgetMarks(reader).catch(() => undefined)
  }
}

/**
 * The horizon is the `xmin` of the statement's snapshot: transactions below it have ended, and the statement sees their rows. Those at
 * `xmax` and above had not begun.
 */
const COMMIT_ORDER: CommitOrder = {
  writer: sql<string>`events.writer::text`,
  settled: sql<number>`case when events.writer < pg_snapshot_xmin(pg_current_snapshot()) then 1 else 0 end`,
  columns: [sql`events.writer`, sql`events.id`],
  follows: (writer, id) => sql<boolean>`(events.writer, events.id) > (${writer}::xid8, ${id}::bigint)`,
  ends: sql`(select concat(pg_snapshot_xmin(pg_current_snapshot()), '.0') as settled,
    concat(pg_snapshot_xmax(pg_current_snapshot()), '.0') as newest)`,
}

/** Migrates a database to the schema of this code, once however many processes try. @throws StoreError */
export async function migratePostgres(database: string, migrations?: readonly Migration[]): Promise<void> {
  const place = postgresPlace(database)
  // No limit: an index on a large table takes long, and so does the migration of another process.
  const { database: db } = openConnections(place, {
    connections: 1,
    patience: PATIENCE,
    statement: null,
    silence: null,
    plansEach: true,
    shares: false,
  })
  try {
    await retryPassing(() => migrate(db, POSTGRES_SCHEMA, migrations), performance.now() + MIGRATION_PATIENCE)
  } catch (error) {
    throw asStoreError(error, place.name)
  } finally {
    await db.destroy()
  }
}

/** The key of an advisory lock that no other program uses in this database. */
const LOCK = 4_018_731_105
/** A migration gives up waiting for a table after this time: all later statements on the table wait behind it. */
const TABLE_PATIENCE = '3s'

/** The tables of the current schema, the first one of the search_path. */
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
