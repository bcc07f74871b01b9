import { isPostgres, postgresName } from './postgres/postgres-place.js'
import { openStore } from './store.js'
import { storeLocation } from './store-location.js'
import type { StoreOptions } from './store-location.js'

/**
 * Brings the database to the schema of this version, as often as one likes, and answers its name, without a password.
 * @throws as `openStore`
 */
export async function prepareStore(options: StoreOptions = {}): Promise<string> {
  const { database } = storeLocation(options)
  if (isPostgres(database)) {
    const { migratePostgres } = await import('./postgres/open-postgres.js')
    await migratePostgres(database)
  }
  // Opening a SQLite file migrates it; both have to be usable.
  await (await openStore(options)).close()
  return isPostgres(database) ? postgresName(database) : database
}
