import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { CompiledQuery, DatabaseConnection, Dialect, DialectAdapter, Driver, QueryResult } from 'kysely'
import { createMutex } from '../mutex.js'
import { retryBusy } from './sqlite-error.js'

/** Queries differ only in the lengths of lists: a few hundred cover them. Each takes about 10 KB of memory in SQLite. */
const CACHED_STATEMENTS = 300
/** A read meets a lock only while another process recovers or closes the database, which takes milliseconds. */
const STATEMENT_PATIENCE = 10_000

interface SqliteConnection extends DatabaseConnection {
  readonly database: DatabaseSync
}

/** A database handle for Kysely that prepares each statement once. */
export function createConnection(database: DatabaseSync): SqliteConnection {
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
export function createWriterDriver(connection: SqliteConnection, patience: number): Driver {
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
export function createReaderDriver(connection: SqliteConnection): Driver {
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
export function createDialect(driver: Driver): Dialect {
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
