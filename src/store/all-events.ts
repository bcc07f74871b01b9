/**
 * Reads the events of all threads in one order that no commit is missing from. On SQLite one transaction writes at a time, so
 * `events.id` is that order. On PostgreSQL an id is given when a row is inserted, and a transaction that commits late has lower
 * ids than rows that were read before. There the order is the writing transaction, then the id, and only rows of transactions
 * below the horizon are given: below it all transactions have ended, so no row can still come to stand before one that was read.
 * Of one thread both orders are that of its sequences, because each append changes the row of the thread.
 */
import { unpackEvents } from './event-rows.js'
import type { EventRow } from './event-rows.js'
import type { StoredEvent } from './events.js'
import type { Reader } from './store.js'

/** Where a reader is: behind that row of that transaction. */
export interface EventPlace {
  /** A number of any size as text; always 0 on SQLite. */
  readonly writer: string
  readonly id: number
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

export interface PlacedRow extends EventRow, EventPlace {
  readonly thread_id: string
  readonly at: number
}

/** What a driver gives: settled rows behind that place, in order. */
export type SettledRows = (
  db: Reader,
  page: { readonly after: EventPlace; readonly limit: number },
) => Promise<readonly PlacedRow[]>

const BEGINNING: EventPlace = { writer: '0', id: 0 }

export async function readAllEvents(
  db: Reader,
  settledRows: SettledRows,
  { after, rows: limit }: ReadAllEvents,
): Promise<AllEventsPage> {
  const place = after === null ? BEGINNING : placeOf(after)
  const rows = await settledRows(db, { after: place, limit })
  const { writer, id } = rows.at(-1) ?? place
  return { events: rows.flatMap(eventsOf), next: `${writer}.${id}` }
}

function eventsOf(row: PlacedRow): readonly EventOfThread[] {
  return unpackEvents(row).map((event) => ({ ...event, at: row.at, threadId: row.thread_id }))
}

function placeOf(cursor: string): EventPlace {
  const [, writer, id] = /^(\d+)\.(\d+)$/.exec(cursor) ?? []
  if (writer === undefined || id === undefined)
    throw new Error('Expected the `next` of an earlier page as `after`, got another text.')
  return { writer, id: Number(id) }
}
