import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { Kysely, sql } from 'kysely'
import { changesIn } from '../changes.js'
import { diskError, makeFolders } from '../disk.js'
import { readAllEvents } from '../events.js'
import type { SettledRows } from '../events.js'
import type { SchemaDialect } from '../migrations/create-table.js'
import { migrate } from '../migrations/migrate.js'
import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import type { Database, Writer } from '../store.js'
import { runTransaction } from '../transaction.js'
import type { TransactionPlace } from '../transaction.js'
import { createConnection, createDialect, createReaderDriver, createWriterDriver } from './connection.js'
import { asStoreError, retryBusy } from './sqlite-error.js'
import { watchSqlite } from './watch-sqlite.js'

/** SQLite blocks the event loop while it waits: long enough for a short transaction of another process, no longer. */
const BUSY_TIMEOUT = 50
/**
 * Pages in the write-ahead log at which the writer copies it into the database, which blocks the event loop. Four times
 * SQLite's default halves the number of copied pages, and the log stays below 17 MB.
 */
const CHECKPOINT_PAGES = 4_000
/** Milliseconds that opening and each write wait for others. Then activities retry, and a command prints the error. */
const PATIENCE = 30_000

/** Opens a database file, and creates and migrates it if needed. @throws StoreError with one sentence on what to do */
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
          // A transaction that never ends must keep neither the file open nor the watchers waiting.
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

/** One transaction writes at a time, so every visible row is settled, in the order of ids. */
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

/** Opens the file without reading it. */
function openFile(path: string, readOnly: boolean): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(path, { readOnly, enableForeignKeyConstraints: false })
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT}`)
  return database
}

/** Reads the file, which another process may be creating at this moment. */
function tune(database: DatabaseSync): void {
  database.exec(`pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
}

/** Only with a write-ahead log do readers and the writer of all processes work concurrently. */
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

interface Named {
  readonly name: string
}

// Kysely's introspection reads all columns of all tables each time, which takes 5 % of a worker's start.
const SQLITE_SCHEMA: SchemaDialect = {
  kind: 'sqlite',
  async tables(db) {
    const { rows } = await sql<Named>`
      select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'`.execute(db)
    return rows.map(({ name }) => name)
  },
  async columns(db, table) {
    const { rows } = await sql<Named>`select name from pragma_table_info(${table})`.execute(db)
    return rows.map(({ name }) => name)
  },
  // A transaction begins with the write lock of the whole file.
  lock: async () => {},
  elsewhere: 'name another file',
}

/**
 * Loads Node's SQLite without its ExperimentalWarning, on which a user of this package cannot act. Only that warning is
 * suppressed, and only while the module loads.
 * @throws StoreError `unavailable` on a Node that has none
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const original = Object.getOwnPropertyDescriptor(process, 'emitWarning')
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).includes('SQLite')) Reflect.apply(emitWarning, process, [warning, ...rest])
  }
  try {
    // Older versions have no `getBuiltinModule`, or answer nothing: npm only warns of `engines`.
    const sqlite: typeof import('node:sqlite') | undefined = process.getBuiltinModule?.('node:sqlite')
    if (sqlite !== undefined) return sqlite
    throw new StoreError(
      'unavailable',
      `Expected Node 22.13 or later, which has SQLite built in, got ${process.version}: run this with a newer Node`,
    )
  } finally {
    if (original !== undefined) Object.defineProperty(process, 'emitWarning', original)
  }
}
