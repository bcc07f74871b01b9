import type { Kysely, RawBuilder, Transaction } from 'kysely'
import type { StoredEvent } from './event-rows.js'
import type { BlobStore } from './files/blob-store.js'
import type { Schema } from './schema.js'
import type { SecretBox } from './secret-box.js'

/** Can only select, also recursively. A `Writer` is a `Reader` too, so reads can be part of a transaction. */
export type Reader = Pick<Kysely<Schema>, 'selectFrom' | 'withRecursive' | 'getExecutor'>

/** A transaction: of `write` serializable, of `writeLocked` not. */
export type Writer = Transaction<Schema>

/** The content of threads: a database, and beside it the bytes of files. */
export interface Store {
  /** Made once, with the store. Threads carry it, and a worker refuses work of another store. */
  readonly id: string
  /** Seconds since 1970, with fractions, by the one clock of the store: that of the database server, or of this machine. */
  readonly clock: RawBuilder<number>
  /** Waits for no writer. Each statement sees what was committed when it began. */
  read<T>(work: (db: Reader) => Promise<T>): Promise<T>
  /**
   * Commits all of `work` or nothing, serializably. `work` awaits its own statements only: never another `write`, the
   * network or user code. After a conflict with another write it runs again, so whatever it leaves outside of the
   * database must come from its last run.
   * @throws StoreError `busy` if it waits longer than 30 s for its turn or for the lock of another process
   */
  write<T>(work: (tx: Writer) => Promise<T>): Promise<T>
  /**
   * As `write`, for rows that many threads change, such as what an account has used. `work` locks each such row with the statement
   * that reads it, an upsert, always in the same order: transactions wait for each other where serializable ones would conflict.
   * On PostgreSQL it is READ COMMITTED.
   */
  writeLocked<T>(work: (tx: Writer) => Promise<T>): Promise<T>
  /** False where one transaction writes at a time: `writeLocked` is `write` there, so its work may be a part of one. */
  readonly locksRows: boolean
  /** The next events of all threads, in an order into which no later commit can insert any (`events.ts`). */
  readAllEvents(page: ReadAllEvents): Promise<AllEventsPage>
  /** Where that order ends now. */
  readEventEnds(): Promise<EventEnds>
  /** The cursor of that order behind which this event of a thread comes first; null: there is none. */
  readCursorBefore(event: { readonly threadId: string; readonly sequence: number }): Promise<string | null>
  readonly blobs: BlobStore
  readonly secrets: SecretBox
  /**
   * Calls the listener soon after each commit of any process that appended events or deltas of the thread; of any thread, for
   * `ANY_THREAD`. It may also
   * call it without cause, and calls it once when the store closes, but never before `watch` returns. Returns a function
   * that ends the watch.
   */
  watch(threadId: string, listener: () => void): () => void
  /**
   * Calls the listener soon after a stop of the thread is stored by any process, also if one is stored already. It may also
   * call it without cause, but never before `watchStops` returns. Returns a function that ends the watch.
   */
  watchStops(threadId: string, listener: () => void): () => void
  /** Waits for the transaction in flight first. */
  close(): Promise<void>
}

export interface ReadAllEvents {
  /** `next` of the previous page, or the `cursor` of an event; null starts at the first event. */
  readonly after: string | null
  /** At most this many rows of the table are read; a row has up to 64 events. */
  readonly rows: number
  /** The threads of a tree, by its root, or those of an account. @default all threads */
  readonly of?: { readonly root: string } | { readonly account: string } | undefined
}

export interface EventOfThread extends StoredEvent {
  readonly threadId: string
  /** The root of its tree. */
  readonly sessionId: string
  /** A cursor for the page behind this event. */
  readonly cursor: string
}

export interface AllEventsPage {
  readonly events: readonly EventOfThread[]
  /** An opaque cursor for the next page, also if this page is empty. */
  readonly next: string
  /** The number of rows that it moved over, also of those that have other threads. */
  readonly rows: number
  /** Further rows may follow at once. */
  readonly more: boolean
  /**
   * False: there are committed rows whose order is not settled yet, because an earlier transaction is still open. Nobody is notified when
   * it ends: read again soon.
   */
  readonly settled: boolean
}

interface EventEnds {
  /** Behind all events that are settled, and before all that are not. */
  readonly settled: string
  /** Behind the newest event that can have been read. */
  readonly newest: string
}

/** The part of a store that a driver provides: the database with the rows of threads. Every failure is a StoreError. */
export type Database = Omit<Store, 'blobs' | 'secrets'>
