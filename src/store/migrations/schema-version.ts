import type { Kysely } from 'kysely'

import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import { makeStoreId } from '../store-location.js'
import type { Writer } from '../store.js'
import { createFirstSchema } from './0001-first.js'

/** One step of the schema. Steps only add nullable columns or ones with a default; a column is dropped two releases after its last use. */
export interface Migration {
  readonly version: number
  /** The oldest schema version whose code may work on the result. */
  readonly oldestCode: number
  readonly up: typeof createFirstSchema
}

/** Before the first release there is only one: it may change, and no earlier store is migrated. */
export const MIGRATIONS: readonly Migration[] = [{ version: 1, oldestCode: 1, up: createFirstSchema }]

/** The schema version that this code was written for. */
const CODE_VERSION = MIGRATIONS.length

type InfoSchema = { schema_info: SchemaInfo }

interface SchemaInfo {
  readonly version: number
  readonly oldest_code: number
  /** The id of the store in the database. */
  readonly store_id: string
}

/**
 * Migrates a database to the schema of this code, once however many processes try, and returns the id of its store. A newer
 * schema that allows this code stays unchanged, so that a rolling deploy works. @throws StoreError `incompatible`
 */
export async function migrate(
  database: Kysely<Schema>,
  dialect: SchemaDialect,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<string> {
  const db = database.withTables<InfoSchema>()
  const before = await readInfo(db, dialect)
  if (before !== null && isCurrent(before, migrations.length)) return before.store_id
  return db.transaction().execute(async (tx) => {
    await dialect.lock(tx)
    // Another process may have migrated while this one waited for the lock.
    const found = await readInfo(tx, dialect)
    if (found !== null && isCurrent(found, migrations.length)) return found.store_id
    const storeId = found?.store_id ?? makeStoreId()
    if (found === null) await createInfo(tx, storeId)
    const changer = { schema: tx.schema, getExecutor: () => tx.getExecutor(), kind: dialect.kind }
    for (const migration of migrations.slice(found?.version ?? 0)) {
      await migration.up(changer)
      await tx
        .updateTable('schema_info')
        .set({ version: migration.version, oldest_code: migration.oldestCode })
        .execute()
    }
    return storeId
  })
}

/** Gives a store a new id and returns it: for a copy of a database, whose open threads belong to the original. */
export async function renewStoreId(tx: Writer): Promise<string> {
  const storeId = makeStoreId()
  await tx.withTables<InfoSchema>().updateTable('schema_info').set({ store_id: storeId }).execute()
  return storeId
}

/**
 * For databases that are migrated by a command; returns the id of the store.
 * @throws StoreError `incompatible`, naming the command
 */
export async function assertMigrated(database: Kysely<Schema>, dialect: SchemaDialect): Promise<string> {
  const found = await readInfo(database.withTables<InfoSchema>(), dialect)
  if (found !== null && isCurrent(found)) return found.store_id
  const got = found === null ? 'an empty database' : `schema version ${found.version}`
  throw new StoreError(
    'incompatible',
    `Expected a database of schema version ${CODE_VERSION}, got ${got}: run "npx everthread setup" first`,
  )
}

/** Null for an empty database. */
async function readInfo(db: Kysely<Schema & InfoSchema>, dialect: SchemaDialect): Promise<SchemaInfo | null> {
  const tables = await dialect.tables(db)
  if (tables.length === 0) return null
  const ours = tables.includes('schema_info')
  const info = ours ? await db.selectFrom('schema_info').selectAll().executeTakeFirst() : undefined
  if (info !== undefined) {
    await assertReleased(db, dialect, info)
    return info
  }
  throw new StoreError(
    'incompatible',
    `Expected an empty database or one made by everthread, got the tables of another program: ${dialect.elsewhere}`,
  )
}

/** The first schema changed before its release, so its version number does not identify it: its newest column does. */
async function assertReleased(
  db: Kysely<Schema & InfoSchema>,
  dialect: SchemaDialect,
  info: Partial<SchemaInfo>,
): Promise<void> {
  const columns = await dialect.columns(db, 'operations')
  const lacks = columns.includes('run')
    ? info.store_id === undefined
      ? 'a table "schema_info" with a column "store_id"'
      : null
    : 'a table "operations" with a column "run"'
  if (lacks === null) return
  throw new StoreError(
    'incompatible',
    `Expected ${lacks}, got one made by everthread before its first release: ` +
      `no migration leads from there, make the store anew, or ${dialect.elsewhere}`,
  )
}

/** @throws StoreError for a schema that this code is too old for */
function isCurrent(found: SchemaInfo, code = CODE_VERSION): boolean {
  if (found.version > code && found.oldest_code > code) {
    throw new StoreError(
      'incompatible',
      `Expected a database that code of schema version ${code} may use, got schema version ` +
        `${found.version}, which needs at least ${found.oldest_code}: install a newer version of everthread`,
    )
  }
  return found.version >= code
}

async function createInfo(db: Kysely<Schema & InfoSchema>, storeId: string): Promise<void> {
  await db.schema
    .createTable('schema_info')
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('oldest_code', 'integer', (column) => column.notNull())
    .addColumn('store_id', 'text', (column) => column.notNull())
    .execute()
  await db.insertInto('schema_info').values({ version: 0, oldest_code: 0, store_id: storeId }).execute()
}

type Queryable = Pick<Kysely<unknown>, 'getExecutor'>

/** The differences between databases that migrations need. */
export interface SchemaDialect {
  readonly kind: 'sqlite' | 'postgres'
  /** The names of all tables, including those of other programs. */
  tables(db: Queryable): Promise<readonly string[]>
  /** Names of the columns of that table. */
  columns(db: Queryable, table: string): Promise<readonly string[]>
  /** Keeps other processes from migrating until the transaction ends. */
  lock(tx: Queryable): Promise<void>
  /** Advice for a database with tables of another program. */
  readonly elsewhere: string
}
