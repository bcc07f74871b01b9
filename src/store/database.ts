import type { AllEventsPage, ReadAllEvents } from './all-events.js'
import type { Reader, Store, Writer } from './store.js'

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
