import type { SchemaDialect } from '../migrations/schema-dialect.js'

export const SQLITE_SCHEMA: SchemaDialect = {
  kind: 'sqlite',
  tables: async (db) => (await db.introspection.getTables()).map(({ name }) => name),
  async columns(db, table) {
    const found = (await db.introspection.getTables()).find(({ name }) => name === table)
    return found?.columns.map(({ name }) => name) ?? []
  },
  // Its transactions begin with the write lock of the whole file.
  lock: async () => {},
  elsewhere: 'name another file',
}
