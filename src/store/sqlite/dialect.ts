import { SqliteIntrospector, SqliteQueryCompiler } from 'kysely'
import type { Dialect, DialectAdapter, Driver } from 'kysely'

/** Kysely's own SQLite dialect wants another library's API and a lock of its own; ours leaves both to the driver. */
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
