import type { Kysely, Transaction } from 'kysely'
import type { StoredEvent } from './event-rows.js'
import type { BlobStore } from './files/blob-store.js'
import type { Schema } from './schema.js'
import type { SecretBox } from './secret-box.js'

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

export interface ReadAllEvents {
  /** `next` of the page before; null: from the first event on. */
  readonly after: string | null
  /** How many rows of the table are read at most; a row has up to 64 events. */
  readonly rows: number
}

export interface EventOfThread extends StoredEvent {
  readonly threadId: string
}

export interface AllEventsPage {
  readonly events: readonly EventOfThread[]
  /** Where the next page begins, also if this one is empty. Opaque. */
  readonly next: string
}

/** A database that holds the rows of threads: what a driver gives. What it throws for trouble is a StoreError. */
export interface Database {
  /** See `Store.id`. */
  readonly id: string
  /** See `Store.read`. */
  read<T>(work: (db: Reader) => Promise<T>): Promise<T>
  /** See `Store.write`. */
  write<T>(work: (tx: Writer) => Promise<T>): Promise<T>
  readonly watch: Store['watch']
  /** See `Store.readAllEvents`. */
  readAllEvents(page: ReadAllEvents): Promise<AllEventsPage>
  /** Ends the transaction in flight first. */
  close(): Promise<void>
}
