import type { Kysely, Transaction } from 'kysely'

import type { AllEventsPage, ReadAllEvents } from './all-events.js'
import { openBlobs } from './blob-location.js'
import type { BlobStore } from './blob-store.js'
import type { Database } from './database.js'
import type { Schema } from './schema.js'
import { isPostgres } from './postgres/postgres-place.js'
import { createSecretBox } from './secret-box.js'
import type { SecretBox } from './secret-box.js'
import { secretKeys } from './secret-keys.js'
import { StoreError } from './store-error.js'
import { storeLocation } from './store-location.js'
import type { StoreLocation, StoreOptions } from './store-location.js'
import { openSqlite } from './sqlite/open-sqlite.js'
import { assertSecretsOpen } from './variables.js'

/** Can only select, trees too. A `Writer` is one too, so reads compose into transactions. */
export type Reader = Pick<Kysely<Schema>, 'selectFrom' | 'withRecursive'>

/** A transaction: as if no other ran meanwhile. */
export type Writer = Transaction<Schema>

/** Where the content of threads lives: a database and the files' bytes beside it. */
export interface Store {
  /** Made once, with the store: threads name it, and only workers of this store take their work. */
  readonly id: string
  /** Waits for nobody and sees nothing uncommitted; each statement sees the newest commit. */
  read<T>(work: (db: Reader) => Promise<T>): Promise<T>
  /**
   * All of `work` or nothing, as if it ran alone: `work` awaits its own statements only, never another `write`, the
   * network or user code. It may run again when another write came between, so what it leaves behind outside of the
   * database is of its last run. @throws StoreError `busy` when its turn or another process's lock takes 30 s
   */
  write<T>(work: (tx: Writer) => Promise<T>): Promise<T>
  /** The next events of all threads, in an order that no commit is missing from: see `all-events.ts`. */
  readAllEvents(page: ReadAllEvents): Promise<AllEventsPage>
  readonly blobs: BlobStore
  readonly secrets: SecretBox
  /**
   * Calls the listener soon after each commit, of this or another process, that appended events or deltas of the thread;
   * may call it for nothing, once more at the end of the store, and never before `watch` returns. Returns its end.
   */
  watch(threadId: string, listener: () => void): () => void
  /** Ends the transaction in flight first. */
  close(): Promise<void>
}

/**
 * Opens the store, making folders, a SQLite file and its schema where they are missing; the schema of a PostgreSQL
 * database is made by `everthread setup`.
 * @throws ConfigError for places that are not understood, and for secrets whose key is missing; StoreError, one sentence,
 * for places that cannot be used
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

/** A store without keys. @throws StoreError */
export async function openPlaces(location: StoreLocation): Promise<Omit<Store, 'secrets'>> {
  const blobs = await openBlobs(location.blobs)
  const database = await openDatabase(location.database)
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw new StoreError('closed', CLOSED)
  }

  return {
    id: database.id,
    async read(work) {
      assertOpen()
      return database.read(work)
    },
    async write(work) {
      assertOpen()
      return database.write(work)
    },
    async readAllEvents(page) {
      assertOpen()
      return database.readAllEvents(page)
    },
    blobs,
    watch(threadId, listener) {
      assertOpen()
      return database.watch(threadId, listener)
    },
    close: () => (closing ??= database.close()),
  }
}

/** `pg` is loaded where it is used. */
async function openDatabase(place: string): Promise<Database> {
  if (!isPostgres(place)) return openSqlite(place)
  const { openPostgres } = await import('./postgres/open-postgres.js')
  return openPostgres(place)
}

const CLOSED = 'Expected an open store, got one that was closed: open it again with openStore'
