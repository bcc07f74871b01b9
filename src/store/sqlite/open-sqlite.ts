import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'

import { Kysely } from 'kysely'
import type { DatabaseSync } from 'node:sqlite'

import { readAllEvents } from '../all-events.js'
import type { SettledRows } from '../all-events.js'
import { changesIn } from '../changes.js'
import type { Database } from '../database.js'
import { diskError } from '../disk-error.js'
import { makeFolders } from '../make-folders.js'
import { migrate } from '../migrations/migrate.js'
import { runTransaction } from '../run-transaction.js'
import type { TransactionPlace } from '../run-transaction.js'
import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import type { Writer } from '../store.js'
import { createConnection } from './connection.js'
import { createDialect } from './dialect.js'
import { createReaderDriver, createWriterDriver } from './drivers.js'
import { loadSqlite } from './load-sqlite.js'
import { retryBusy } from './retry-busy.js'
import { asStoreError } from './sqlite-error.js'
import { SQLITE_SCHEMA } from './sqlite-schema.js'
import { watchSqlite } from './watch-sqlite.js'

/** SQLite waits with the event loop standing still: long enough for another's short transaction, no longer. */
const BUSY_TIMEOUT = 50
/**
 * Pages of the log that make the writer copy it into the database and flush both, with the event loop standing still: four
 * times SQLite's own number halves the pages that are copied, and the log stays below 17 MB.
 */
const CHECKPOINT_PAGES = 4_000
/** How long opening and each write wait for others, in all: activities retry after it, people see a sentence. */
const PATIENCE = 30_000

/** Opens a database file, made and migrated when needed. @throws StoreError with one sentence on what to do */
export async function openSqlite(path: string, patience = PATIENCE): Promise<Database> {
  await prepareFolder(path)
  const opened: DatabaseSync[] = []
  try {
    const deadline = performance.now() + patience
    const writing = openFile(path, false)
    opened.push(writing)
    await retryBusy(() => useWal(writing, path), deadline)
    await retryBusy(() => tune(writing), deadline)
    const driver = createWriterDriver(createConnection(writing), patience)
    const dialect = createDialect(driver)
    const writer = new Kysely<Schema>({ dialect })
    const writerPlace = { database: writer, dialect, driver, settings: {}, pipelined: false }
    const id = await migrate(writer, SQLITE_SCHEMA)
    const reading = openFile(path, true)
    opened.push(reading)
    await retryBusy(() => tune(reading), deadline)
    const reader = new Kysely<Schema>({
      dialect: createDialect(createReaderDriver(createConnection(reading))),
    })
    const commits = watchSqlite(reading)
    return {
      id,
      read: (work) => told(path, () => work(reader)),
      write: (work) => told(path, () => writeTelling(writerPlace, work, () => commits.committed())),
      watch: (threadId, listener) => commits.watch(threadId, listener),
      readAllEvents: (page) => told(path, () => readAllEvents(reader, settledRows, page)),
      close: async () => {
        try {
          await writer.destroy()
        } finally {
          // Whoever does not end its transaction keeps neither the file open nor those who watch waiting.
          commits.end()
          for (const database of opened) database.close()
        }
      },
    }
  } catch (error) {
    for (const database of opened) database.close()
    throw asStoreError(error, path)
  }
}

async function told<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asStoreError(error, path)
  }
}

/** One transaction writes at a time: each row that can be read is settled, in the order of ids. */
const settledRows: SettledRows = async (db, { after, limit }) => {
  const rows = await db
    .selectFrom('events')
    .select(['id', 'thread_id', 'first_sequence', 'sequence', 'at', 'scope', 'events'])
    .where('id', '>', after.id)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ ...row, writer: '0' }))
}

async function writeTelling<T>(
  place: TransactionPlace,
  work: (tx: Writer) => Promise<T>,
  committed: () => void,
): Promise<T> {
  let changed = false
  const result = await runTransaction(place, async (tx) => {
    const done = await work(tx)
    changed = changesIn(tx).size > 0
    return done
  })
  if (changed) committed()
  return result
}

/** Looks at nothing in the file yet. */
function openFile(path: string, readOnly: boolean): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path, { readOnly, enableForeignKeyConstraints: false })
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}`)
  return database
}

/** Reads the file, which another process may be making at the same moment. */
function tune(database: DatabaseSync): void {
  database.exec(`pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
}

/** Readers and the writer of all processes work side by side only with a write-ahead log. */
function useWal(database: DatabaseSync, path: string): void {
  const mode = database.prepare('pragma journal_mode = wal').get()?.['journal_mode']
  if (mode === 'wal') return
  throw new StoreError(
    'unavailable',
    `Expected the disk of ${path} to support SQLite's write-ahead log, got the mode "${String(mode)}": ` +
      'use a local disk, not a network drive',
  )
}

async function prepareFolder(path: string): Promise<void> {
  try {
    await makeFolders(dirname(path))
    const found = await stat(path).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    })
    if (found === undefined || found.isFile()) return
  } catch (error) {
    throw diskError(error, `the folder of the database ${path}`)
  }
  throw new StoreError(
    'unavailable',
    `Expected the database ${path} to be a file, got something else: name a file in that place`,
  )
}
