import { sql } from 'kysely'

import type { SchemaDialect } from '../migrations/schema-dialect.js'

/** Any number will do that no other program uses in this database. */
const LOCK = 4_018_731_105
/** While a change of a table waits for its lock, everybody who comes later waits behind it. */
const TABLE_PATIENCE = '3s'

/** Tables are those of the schema that the connection works in, the first of its search_path. */
export const POSTGRES_SCHEMA: SchemaDialect = {
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
