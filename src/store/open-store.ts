import type { BlobStore } from './files/blob-store.js'
import { openDirectoryBlobs } from './files/directory-blobs.js'
import { renewStoreId } from './migrations/schema-version.js'
import { isPostgres, postgresName } from './postgres/postgres-place.js'
import { createSecretBox, secretKeys } from './secret-box.js'
import { openSqlite } from './sqlite/sqlite-database.js'
import { StoreError } from './store-error.js'
import { storeLocation } from './store-location.js'
import type { StoreOptions } from './store-location.js'
import type { Database, Store } from './store.js'
import { assertSecretsOpen } from './threads/variables.js'

/**
 * Opens the store, and makes missing folders, and a missing SQLite file with its schema. `everthread setup` makes the schema of
 * a PostgreSQL database.
 * @throws ConfigError for places that are invalid, and for secrets whose key is missing; StoreError, with one sentence, for
 * places that cannot be used
 */
export async function openStore(options: StoreOptions = {}): Promise<Store> {
  const secrets = createSecretBox(secretKeys(options))
  const places = await openPlaces(storeLocation(options))
  try {
    await assertSecretsOpen(places, secrets)
    return { ...places, secrets }
  } catch (error) {
    await places.close()
    throw error
  }
}

type Location = ReturnType<typeof storeLocation>

/** A store without keys. @throws StoreError */
async function openPlaces(location: Location): Promise<Omit<Store, 'secrets'>> {
  const blobs = await openBlobs(location.blobs)
  const database = await openDatabase(location.database)
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw new StoreError('closed', CLOSED)
  }

  return {
    id: database.id,
    clock: database.clock,
    async read(work) {
      assertOpen()
      return database.read(work)
    },
    async write(work) {
      assertOpen()
      return database.write(work)
    },
    async writeLocked(work) {
      assertOpen()
      return database.writeLocked(work)
    },
    locksRows: database.locksRows,
    async readAllEvents(page) {
      assertOpen()
      return database.readAllEvents(page)
    },
    async readCursorBefore(event) {
      assertOpen()
      return database.readCursorBefore(event)
    },
    async readEventEnds() {
      assertOpen()
      return database.readEventEnds()
    },
    blobs,
    watch(threadId, listener) {
      assertOpen()
      return database.watch(threadId, listener)
    },
    watchStops(threadId, listener) {
      assertOpen()
      return database.watchStops(threadId, listener)
    },
    close: () => (closing ??= database.close()),
  }
}

/** `pg` is loaded only for PostgreSQL. */
async function openDatabase(place: string): Promise<Database> {
  if (!isPostgres(place)) return openSqlite(place)
  const { openPostgres } = await import('./postgres/postgres-database.js')
  return openPostgres(place)
}

const CLOSED = 'Expected an open store, got one that was closed: open it again with openStore'

/** @throws ConfigError, StoreError */
async function openBlobs(location: Location['blobs']): Promise<BlobStore> {
  if (typeof location === 'string') return openDirectoryBlobs(location)
  const { openS3Blobs } = await import('./s3/s3-blobs.js')
  return openS3Blobs(location)
}

interface Shared {
  readonly store: ReturnType<typeof openPlaces>
  users: number
}

const open = new Map<string, Shared>()

/**
 * Opens the store of a place once for all users in this process. A worker and a client would otherwise wait for each other's
 * database lock, which blocks the event loop. Each user has its own keys, and the last `close` closes the store.
 * @throws as `openStore`
 */
export async function shareStore(options: StoreOptions = {}): Promise<Store> {
  const secrets = createSecretBox(secretKeys(options))
  const location = storeLocation(options)
  const key = JSON.stringify([location.database, location.blobs])
  const shared = open.get(key) ?? { store: openPlaces(location), users: 0 }
  shared.users += 1
  open.set(key, shared)
  let left: Promise<void> | undefined
  const close = (): Promise<void> => (left ??= leave(key, shared))
  const places = await shared.store.catch((error: unknown) => {
    // The next caller tries again: the disk may have come back.
    if (open.get(key) === shared) open.delete(key)
    throw error
  })
  try {
    await assertSecretsOpen(places, secrets)
    return { ...places, secrets, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function leave(key: string, shared: Shared): Promise<void> {
  shared.users -= 1
  if (shared.users > 0) return
  if (open.get(key) === shared) open.delete(key)
  await (await shared.store).close()
}

/** The database of a store, for people: without a password. @throws ConfigError */
export function storeName(options: StoreOptions = {}): string {
  const { database } = storeLocation(options)
  return isPostgres(database) ? postgresName(database) : database
}

/** A store that is ready to be used. */
interface PreparedStore {
  /** The name of its database, without a password. */
  readonly name: string
  readonly id: string
}

interface PrepareStore {
  /** Gives the store a new id: for a copy of a database, whose open threads belong to the original. @default false */
  readonly newId?: boolean
}

/**
 * Migrates the database to the schema of this version; repeating it is harmless.
 * @throws as `openStore`
 */
export async function prepareStore(
  options: StoreOptions = {},
  { newId = false }: PrepareStore = {},
): Promise<PreparedStore> {
  const { database } = storeLocation(options)
  if (isPostgres(database)) {
    const { migratePostgres } = await import('./postgres/postgres-database.js')
    await migratePostgres(database)
  }
  // Opening a SQLite file migrates it. Database and blobs both have to be usable.
  const store = await openStore(options)
  try {
    const id = newId ? await store.write(renewStoreId) : store.id
    return { name: storeName(options), id }
  } finally {
    await store.close()
  }
}
