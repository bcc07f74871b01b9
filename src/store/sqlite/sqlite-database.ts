import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

import { Kysely, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely'
import type { CompiledQuery, DatabaseConnection, Dialect, DialectAdapter, Driver, QueryResult } from 'kysely'

import { changesIn, stopsIn } from '../changes.js'
import { diskError, makeFolders } from '../disk.js'
import { readAllEvents, readCursorBefore, readEventEnds } from '../events.js'
import type { CommitOrder } from '../events.js'
import type { SchemaDialect } from '../migrations/schema-version.js'
import { migrate } from '../migrations/schema-version.js'
import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import type { Database, Writer } from '../store.js'
import { locksRows, runTransaction } from '../transaction.js'
import type { TransactionPlace } from '../transaction.js'
import { asStoreError, retryBusy } from './sqlite-error.js'
import { watchSqlite } from './sqlite-watch.js'
import type { SqliteWatch } from './sqlite-watch.js'
import { createMutex } from '../mutex.js'

/** SQLite blocks the event loop while it waits: long enough for a short transaction of another process, no longer. */
const BUSY_TIMEOUT = 50

/**
 * Pages in the write-ahead log at which the writer copies it into the database, which blocks the event loop. Four times
 * SQLite's default halves the number of copied pages, and the log stays below 17 MB.
 */
const CHECKPOINT_PAGES = 4_000

/** Milliseconds that opening and each write wait for others. Then activities retry, and a command prints the error. */
const PATIENCE = 30_000

/** Opens a database file, and creates and migrates it if needed. @throws StoreError with one sentence on what to do */
export async function openSqlite(path: string, patience = PATIENCE): Promise<Database> {
  await prepareFolder(path)
  const opened: DatabaseSync[] = []
  try {
    const deadline = performance.now() + patience
    const writing = openFile(path, false)
    opened.push(writing)
    await retryBusy(() => useWal(writing, path), deadline)
    await retryBusy(() => tune(writing), deadline)
    const driver = createWriterDriver(createConnection(writing), patience)
    const dialect = createDialect(driver)
    const writer = new Kysely<Schema>({ dialect })
    const writerPlace = { database: writer, dialect, driver, settings: {}, pipelined: false }
    const id = await migrate(writer, SQLITE_SCHEMA)
    const write = <T>(work: (tx: Writer) => Promise<T>): Promise<T> =>
      withStoreErrors(path, () => writeAndNotify(writerPlace, work, commits))
    const reading = openFile(path, true)
    opened.push(reading)
    await retryBusy(() => tune(reading), deadline)
    const reader = new Kysely<Schema>({
      dialect: createDialect(createReaderDriver(createConnection(reading))),
    })
    const commits = watchSqlite(reading)
    return {
      id,
      clock: sql<number>`unixepoch('subsec')`,
      read: (work) => withStoreErrors(path, () => work(reader)),
      write,
      // One transaction writes at a time.
      writeLocked: write,
      locksRows: locksRows(writer),
      watch: (threadId, listener) => commits.watch(threadId, listener),
      watchStops: (threadId, listener) => commits.watchStops(threadId, listener),
      readAllEvents: (page) => withStoreErrors(path, () => readAllEvents(reader, COMMIT_ORDER, page)),
      readCursorBefore: (event) => withStoreErrors(path, () => readCursorBefore(reader, COMMIT_ORDER, event)),
      readEventEnds: () => withStoreErrors(path, () => readEventEnds(reader, COMMIT_ORDER)),
      close: async () => {
        try {
          await writer.destroy()
        } finally {
          // A transaction that never ends must keep neither the file open nor the watchers waiting.
          commits.end()
          for (const database of opened) database.close()
        }
      },
    }
  } catch (error) {
    for (const database of opened) database.close()
    throw asStoreError(error, path)
  }
}

async function withStoreErrors<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asStoreError(error, path)
  }
}

/** One transaction writes at a time, so every visible row is settled, in the order of ids, which are never given again. */
const COMMIT_ORDER: CommitOrder = {
  writer: sql<string>`'0'`,
  settled: sql<number>`1`,
  columns: [sql`events.id`],
  follows: (_writer, id) => sql<boolean>`events.id > ${id}`,
  ends: sql`(select '0.' || last as settled, '0.' || last as newest from
    (select coalesce((select seq from sqlite_sequence where name = 'events'), 0) as last))`,
}

async function writeAndNotify<T>(
  place: TransactionPlace,
  work: (tx: Writer) => Promise<T>,
  commits: SqliteWatch,
): Promise<T> {
  let changed = false
  let stopped = false
  const result = await runTransaction(place, async (tx) => {
    const done = await work(tx)
    changed = changesIn(tx).size > 0
    stopped = stopsIn(tx).size > 0
    return done
  })
  if (changed) commits.noticeCommit()
  if (stopped) commits.noticeStop()
  return result
}

/** Opens the file without reading it. */
function openFile(path: string, readOnly: boolean): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path, { readOnly, enableForeignKeyConstraints: false })
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}`)
  return database
}

/** Reads the file, which another process may be creating at this moment. */
function tune(database: DatabaseSync): void {
  database.exec(`pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
}

/** Only with a write-ahead log do readers and the writer of all processes work concurrently. */
function useWal(database: DatabaseSync, path: string): void {
  const mode = database.prepare('pragma journal_mode = wal').get()?.['journal_mode']
  if (mode === 'wal') return
  throw new StoreError(
    'unavailable',
    `Expected the disk of ${path} to support SQLite's write-ahead log, got the mode "${String(mode)}": ` +
      'use a local disk, not a network drive',
  )
}

async function prepareFolder(path: string): Promise<void> {
  try {
    await makeFolders(dirname(path))
    const found = await stat(path).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    })
    if (found === undefined || found.isFile()) return
  } catch (error) {
    throw diskError(error, `the folder of the database ${path}`)
  }
  throw new StoreError(
    'unavailable',
    `Expected the database ${path} to be a file, got something else: name a file in that place`,
  )
}

interface Named {
  readonly name: string
}

// Kysely's introspection reads all columns of all tables each time, which takes 5 % of a worker's start.
const SQLITE_SCHEMA: SchemaDialect = {
  kind: 'sqlite',
  async tables(db) {
    const { rows } = await sql<Named>`
      select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'`.execute(db)
    return rows.map(({ name }) => name)
  },
  async columns(db, table) {
    const { rows } = await sql<Named>`select name from pragma_table_info(${table})`.execute(db)
    return rows.map(({ name }) => name)
  },
  // A transaction begins with the write lock of the whole file.
  lock: async () => {},
  elsewhere: 'name another file',
}

/**
 * Loads Node's SQLite without its ExperimentalWarning, on which a user of this package cannot act. Only that warning is
 * suppressed, and only while the module loads.
 * @throws StoreError `unavailable` on a Node that has none
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const original = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    // Older versions have no `getBuiltinModule`, or answer nothing: npm only warns of `engines`.
    const sqlite: typeof import('node:sqlite') | undefined = process.getBuiltinModule?.('node:sqlite')
    if (sqlite !== undefined) return sqlite
    throw new StoreError(
      'unavailable',
      `Expected Node 22.13 or later, which has SQLite built in, got ${process.version}: run this with a newer Node`,
    )
  } finally {
    if (original !== undefined) Object.defineProperty(process, 'emitWarning', original)
  }
}

/** Queries differ only in the lengths of lists: a few hundred cover them. Each takes about 10 KB of memory in SQLite. */
const CACHED_STATEMENTS = 300

/** A read meets a lock only while another process recovers or closes the database, which takes milliseconds. */
const STATEMENT_PATIENCE = 10_000

interface SqliteConnection extends DatabaseConnection {
  readonly database: DatabaseSync
}

/** A database handle for Kysely that prepares each statement once. */
function createConnection(database: DatabaseSync): SqliteConnection {
  const statements = new Map<string, StatementSync>()

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const statement = database.prepare(sql)
    if (statements.size >= CACHED_STATEMENTS) {
      for (const oldest of statements.keys()) {
        statements.delete(oldest)
        break
      }
    }
    statements.set(sql, statement)
    return statement
  }

  function execute<R>(query: CompiledQuery): QueryResult<R> {
    const statement = prepare(query.sql)
    const parameters = query.parameters as SqliteValue[]
    if (returnsRows(query)) return { rows: statement.all(...parameters) as R[] }
    const { changes } = statement.run(...parameters)
    return { rows: [], numAffectedRows: BigInt(changes) }
  }

  return {
    database,
    executeQuery: <R>(query: CompiledQuery) =>
      retryBusy(() => execute<R>(query), performance.now() + STATEMENT_PATIENCE),
    async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      for (const row of prepare(query.sql).iterate(...(query.parameters as SqliteValue[]))) {
        yield { rows: [row as R] }
      }
    },
  }
}

type SqliteValue = string | number | bigint | null | Uint8Array

function returnsRows({ query }: CompiledQuery): boolean {
  if (query.kind === 'SelectQueryNode' || query.kind === 'RawNode') return true
  return 'returning' in query && query.returning !== undefined
}

/**
 * One connection that runs one transaction at a time, and waits up to `patience` ms for its turn and for other processes. A
 * transaction begins as a writer: a deferred one that becomes a writer later fails if another process wrote in between.
 */
function createWriterDriver(connection: SqliteConnection, patience: number): Driver {
  const mutex = createMutex()
  const { database } = connection
  let deadline = 0

  return {
    init: async () => {},
    async acquireConnection() {
      const until = performance.now() + patience
      await mutex.acquire(until)
      deadline = until
      return connection
    },
    beginTransaction: () => retryBusy(() => database.exec('begin immediate'), deadline),
    commitTransaction: async () => database.exec('commit'),
    async rollbackTransaction() {
      try {
        database.exec('rollback')
      } catch {
        // SQLite rolled back on its own (disk full, I/O error): the error that caused it is the one to report.
      }
    },
    releaseConnection: async () => mutex.release(),
    /** Waits for queued writes. The opener closes the handle. */
    destroy: () => mutex.acquire(performance.now() + patience),
  }
}

/** One connection for all reads. Each statement sees what was committed when it ran, and waits for no writer. */
function createReaderDriver(connection: SqliteConnection): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuseTransaction,
    commitTransaction: refuseTransaction,
    rollbackTransaction: refuseTransaction,
    releaseConnection: async () => {},
    destroy: async () => {},
  }
}

async function refuseTransaction(): Promise<void> {
  throw new Error('Readers have no transactions: use store.write')
}

/** Kysely's own SQLite dialect needs the API of another library and has a lock of its own; here the driver owns both. */
function createDialect(driver: Driver): Dialect {
  return {
    createDriver: () => driver,
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => ADAPTER,
    createIntrospector: (db) => new SqliteIntrospector(db),
  }
}

const ADAPTER: DialectAdapter = {
  supportsCreateIfNotExists: true,
  supportsMultipleConnections: true,
  supportsTransactionalDdl: true,
  supportsReturning: true,
  supportsOutput: false,
  // Migrations are ours and run inside BEGIN IMMEDIATE.
  acquireMigrationLock: async () => {},
  releaseMigrationLock: async () => {},
}
