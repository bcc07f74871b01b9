import { sql } from 'kysely'

import type { SchemaDialect } from '../migrations/schema-dialect.js'

interface Named {
  readonly name: string
}

// Kysely's introspection reads all columns of all tables, each time: a twentieth of a worker's start.
export const SQLITE_SCHEMA: SchemaDialect = {
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
  // Its transactions begin with the write lock of the whole file.
  lock: async () => {},
  elsewhere: 'name another file',
}
