import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { DatabaseSync, StatementSync } from 'node:sqlite'

import { retryBusy } from './retry-busy.js'

/** Queries differ by list lengths only; a few hundred cover them, and each holds about 10 KB of SQLite's memory. */
const CACHED_STATEMENTS = 300
/** A read meets a lock only while another process recovers or closes the database, which takes milliseconds. */
const STATEMENT_PATIENCE = 10_000

export interface SqliteConnection extends DatabaseConnection {
  readonly database: DatabaseSync
}

/** A database handle as Kysely wants it, each statement prepared once. */
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
