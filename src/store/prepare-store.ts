import { renewStoreId } from './migrations/migrate.js'
import { isPostgres, postgresName } from './postgres/postgres-place.js'
import { openStore } from './store.js'
import { storeLocation } from './store-location.js'
import type { StoreOptions } from './store-location.js'

/** A store that is ready to be used. */
export interface PreparedStore {
  /** Of its database, without a password. */
  readonly name: string
  readonly id: string
}

interface PrepareStore {
  /** Gives the store another id: for a copy of a database, whose open threads are the original's. @default false */
  readonly newId?: boolean
}

/**
 * Brings the database to the schema of this version, as often as one likes.
 * @throws as `openStore`
 */
export async function prepareStore(
  options: StoreOptions = {},
  { newId = false }: PrepareStore = {},
): Promise<PreparedStore> {
  const { database } = storeLocation(options)
  if (isPostgres(database)) {
    const { migratePostgres } = await import('./postgres/open-postgres.js')
    await migratePostgres(database)
  }
  // Opening a SQLite file migrates it; both have to be usable.
  const store = await openStore(options)
  try {
    const id = newId ? await store.write(renewStoreId) : store.id
    return { name: isPostgres(database) ? postgresName(database) : database, id }
  } finally {
    await store.close()
  }
}
