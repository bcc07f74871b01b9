import { sql } from 'kysely'
import type { Fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import { noteChange } from './changes.js'
import { EVENTS_PER_ROW, packEvents, unpackEvents } from './event-rows.js'
import type { EventRow, StoredEvent } from './event-rows.js'
import { HIGHEST_INT } from './schema.js'
import type { AllEventsPage, EventOfThread, ReadAllEvents, Reader, Writer } from './store.js'
import { meanwhile } from './transaction.js'

interface NewEvents {
  readonly threadId: string
  readonly events: readonly Fact[]
  readonly now: number
  /** Whether the thread's last activity is `now` then; seven indexes hold it, so who has just moved it does not. @default true */
  readonly movesActivity?: boolean
}

/** Appends in this order, numbered without a gap. */
export async function appendEvents(tx: Writer, appended: NewEvents): Promise<void> {
  const { threadId, events, now } = appended
  if (events.length === 0) return
  noteChange(tx, threadId)
  meanwhile(tx, takeSequences(tx, appended))
  // Numbered from the thread's last sequence backwards: the database knows it by now, and nobody waits to hear it.
  const rows = packEvents(events, -events.length).map((row) => ({
    ...row,
    first_sequence: beforeLast(threadId, row.first_sequence),
    sequence: beforeLast(threadId, row.sequence),
    thread_id: threadId,
    at: now,
  }))
  meanwhile(tx, tx.insertInto('events').values(rows).execute())
}

async function takeSequences(
  tx: Writer,
  { threadId, events, now, movesActivity = true }: NewEvents,
): Promise<void> {
  const { numUpdatedRows } = await tx
    .updateTable('threads')
    .set((update) => ({
      last_sequence: update('last_sequence', '+', events.length),
      ...(movesActivity && { last_activity_at: laterActivity(now) }),
    }))
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new Error(`Expected a row of thread ${threadId}, got none`)
}

function beforeLast(threadId: string, difference: number) {
  return sql<number>`(select last_sequence from threads where id = ${threadId}) + ${difference}`
}

/** 0 for a thread without events, or that is not there. */
export async function lastSequence(db: Reader, threadId: string): Promise<number> {
  const thread = await db
    .selectFrom('threads')
    .select('last_sequence')
    .where('id', '=', threadId)
    .executeTakeFirst()
  return thread?.last_sequence ?? 0
}

interface ReadEvents {
  readonly threadId: string
  readonly after: number
  readonly limit: number
}

/** In order, from the one after that sequence. */
export async function readEvents(
  db: Reader,
  { threadId, after, limit }: ReadEvents,
): Promise<readonly StoredEvent[]> {
  const last = Math.min(after + limit, HIGHEST_INT - EVENTS_PER_ROW)
  if (after > last) return []
  const rows = await db
    .selectFrom('events')
    .select(['first_sequence', 'sequence', 'at', 'scope', 'events'])
    .where('thread_id', '=', threadId)
    .where('sequence', '>', after)
    // Sequences have no gaps: no row is read of which nothing is given. The index is by
    // `sequence`: without its end all later rows would be looked at.
    .where('sequence', '<', last + EVENTS_PER_ROW)
    .where('first_sequence', '<=', last)
    .orderBy('sequence')
    .limit(limit)
    .execute()
  return rows
    .flatMap((row) => unpackEvents(row).map((event) => ({ ...event, at: row.at })))
    .filter(({ sequence }) => sequence > after)
    .slice(0, limit)
}

/** The later of the recorded activity and `now`: senders' clocks differ, and a list must not jump back. */
function laterActivity(now: number) {
  return sql<number>`case when last_activity_at < ${now} then ${now} else last_activity_at end`
}

/** Once a second of those that come in a row. */
export async function touchThread(tx: Writer, threadId: string, now: number): Promise<void> {
  const touching = tx
    .updateTable('threads')
    .set({ last_activity_at: now })
    .where('id', '=', threadId)
    .where('last_activity_at', '<', now - LIMITS.messagePrecision * 1000)
  meanwhile(tx, touching.execute())
}

/**
 * Reads the events of all threads in one order that no commit is missing from. On SQLite one transaction writes at a time, so
 * `events.id` is that order. On PostgreSQL an id is given when a row is inserted, and a transaction that commits late has lower
 * ids than rows that were read before. There the order is the writing transaction, then the id, and only rows of transactions
 * below the horizon are given: below it all transactions have ended, so no row can still come to stand before one that was read.
 * Of one thread both orders are that of its sequences, because each append changes the row of the thread.
 */

/** Where a reader is: behind that row of that transaction. */
interface EventPlace {
  /** A number of any size as text; always 0 on SQLite. */
  readonly writer: string
  readonly id: number
}

interface PlacedRow extends EventRow, EventPlace {
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
