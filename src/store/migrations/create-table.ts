import type { ColumnDataType, CreateTableBuilder, Kysely } from 'kysely'

/** What a migration may do. */
export type SchemaChanger = Pick<Kysely<unknown>, 'schema'>

type Columns = Readonly<Record<string, 'id' | 'text' | 'text?' | 'int' | 'int?' | 'big' | 'big?'>>

const DATA_TYPES = { text: 'text', int: 'integer', big: 'bigint' } as const

/** `big` where a number may not fit 32 bits: times in microseconds and sizes. A `?` may be null. */
export interface Table {
  readonly columns: Columns
  readonly key?: readonly string[]
}

/** Makes a table with its key. */
export async function createTable(db: SchemaChanger, name: string, { columns, key }: Table): Promise<void> {
  let builder: CreateTableBuilder<string, string> = db.schema.createTable(name)
  for (const [column, kind] of Object.entries(columns)) {
    builder = builder.addColumn(column, dataType(kind), (definition) => {
      if (kind === 'id') return definition.primaryKey().autoIncrement()
      return kind.endsWith('?') ? definition : definition.notNull()
    })
  }
  if (key !== undefined) builder = builder.addPrimaryKeyConstraint(`${name}_key`, [...key])
  await builder.execute()
}

function dataType(kind: Columns[string]): ColumnDataType {
  const [name = 'text'] = kind.split('?')
  return name in DATA_TYPES ? DATA_TYPES[name as keyof typeof DATA_TYPES] : 'integer'
}
