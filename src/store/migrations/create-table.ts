import { sql } from 'kysely'
import type { CreateTableBuilder, Expression, Kysely } from 'kysely'

/** The database as a migration sees it. */
export type SchemaChanger = Pick<Kysely<unknown>, 'schema' | 'getExecutor'> & Pick<SchemaDialect, 'kind'>

type Kind = 'id' | 'writer' | 'text' | 'text?' | 'int' | 'int?' | 'big' | 'big?'

const DATA_TYPES = { text: 'text', int: 'integer', big: 'bigint' } as const

/**
 * `big` is for numbers above 32 bits: times in microseconds and sizes. A `?` marks a nullable column. `writer` is the transaction
 * that wrote the row, set by the database; SQLite has no such column, because its transactions write one after the other.
 */
export interface Table {
  readonly columns: Readonly<Record<string, Kind>>
  readonly key?: readonly string[]
}

/** Makes a table with its key. */
export async function createTable(db: SchemaChanger, name: string, { columns, key }: Table): Promise<void> {
  let builder: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const [column, kind] of Object.entries(columns)) {
    if (kind === 'writer' && db.kind === 'sqlite') continue
    builder = builder.addColumn(column, dataType(db, kind), (definition) => {
      if (kind === 'writer') return definition.notNull().defaultTo(sql`pg_current_xact_id()`)
      if (kind !== 'id') return kind.endsWith('?') ? definition : definition.notNull()
      const primary = definition.primaryKey()
      return db.kind === 'postgres' ? primary.generatedAlwaysAsIdentity() : primary.autoIncrement()
    })
  }
  if (key !== undefined) builder = builder.addPrimaryKeyConstraint(`${name}_key`, [...key])
  await builder.execute()
}

function dataType(db: SchemaChanger, kind: Kind): 'integer' | 'bigint' | 'text' | Expression<unknown> {
  if (kind === 'writer') return sql`xid8`
  if (kind === 'id') return db.kind === 'postgres' ? 'bigint' : 'integer'
  const type = DATA_TYPES[kind.replace('?', '') as keyof typeof DATA_TYPES]
  // Compared by bytes, as in SQLite: the order of a locale changes with the operating system.
  return type === 'text' && db.kind === 'postgres' ? sql`text collate "C"` : type
}

type Asked = Pick<Kysely<unknown>, 'getExecutor'>

/** The differences between databases that migrations need. */
export interface SchemaDialect {
  readonly kind: 'sqlite' | 'postgres'
  /** The names of all tables, including those of other programs. */
  tables(db: Asked): Promise<readonly string[]>
  /** Names of the columns of that table. */
  columns(db: Asked, table: string): Promise<readonly string[]>
  /** Keeps other processes from migrating until the transaction ends. */
  lock(tx: Asked): Promise<void>
  /** Advice for a database with tables of another program. */
  readonly elsewhere: string
}
