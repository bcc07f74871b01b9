import type { Kysely } from 'kysely'

import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import { createFirstSchema } from './0001-first.js'
import { createSessionSchema } from './0002-session.js'
import { createSubagentSchema } from './0003-subagents.js'
import { createProductionSchema } from './0004-production.js'
import type { SchemaChanger } from './create-table.js'

/** One step of the schema. Steps only add: nullable columns or ones with a default; what goes is dropped two releases later. */
interface Migration {
  readonly version: number
  /** The oldest schema version whose code may work on the result. */
  readonly oldestCode: number
  readonly up: (db: SchemaChanger) => Promise<void>
}

const MIGRATIONS: readonly Migration[] = [
  { version: 1, oldestCode: 1, up: createFirstSchema },
  { version: 2, oldestCode: 1, up: createSessionSchema },
  { version: 3, oldestCode: 1, up: createSubagentSchema },
  { version: 4, oldestCode: 1, up: createProductionSchema },
]

/** The schema version that this code was written for. */
const CODE_VERSION = MIGRATIONS.length

type InfoSchema = { schema_info: { version: number; oldest_code: number } }

/**
 * Brings a database to this code's schema, once however many processes try; a newer schema is left as it is, if it
 * allows this code, so that a rolling deploy works. @throws StoreError `incompatible`
 */
export async function migrate(database: Kysely<Schema>): Promise<void> {
  const db = database.withTables<InfoSchema>()
  if (await isReady(db)) return
  await db.transaction().execute(async (tx) => {
    // Another process may have done it while this one waited for the lock.
    if (await isReady(tx)) return
    if ((await tx.introspection.getTables()).length === 0) await createInfo(tx)
    const { version } = await tx.selectFrom('schema_info').select('version').executeTakeFirstOrThrow()
    for (const migration of MIGRATIONS.slice(version)) {
      await migration.up(tx)
      await tx
        .updateTable('schema_info')
        .set({ version: migration.version, oldest_code: migration.oldestCode })
        .execute()
    }
  })
}

async function isReady(db: Kysely<Schema & InfoSchema>): Promise<boolean> {
  const tables = await db.introspection.getTables()
  if (tables.length === 0) return false
  if (!tables.some((table) => table.name === 'schema_info')) throw new StoreError('incompatible', NOT_OURS)
  const info = await db.selectFrom('schema_info').selectAll().executeTakeFirst()
  if (info === undefined) throw new StoreError('incompatible', NOT_OURS)
  if (info.version > CODE_VERSION && info.oldest_code > CODE_VERSION) {
    throw new StoreError(
      'incompatible',
      `Expected a database that code of schema version ${CODE_VERSION} may use, got schema version ` +
        `${info.version}, which needs at least ${info.oldest_code}: install a newer version of everthread`,
    )
  }
  return info.version >= CODE_VERSION
}

async function createInfo(db: Kysely<Schema & InfoSchema>): Promise<void> {
  await db.schema
    .createTable('schema_info')
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('oldest_code', 'integer', (column) => column.notNull())
    .execute()
  await db.insertInto('schema_info').values({ version: 0, oldest_code: 0 }).execute()
}

const NOT_OURS =
  'Expected an empty database or one made by everthread, got the tables of another program: name another file'
