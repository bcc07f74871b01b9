import { sql } from 'kysely'
import type { RawBuilder, Selectable } from 'kysely'
import type { Fact } from '../protocol/facts.js'
import { noteChange } from './changes.js'
import { EVENTS_PER_ROW, packEvents, unpackEvents } from './event-rows.js'
import type { StoredEvent } from './event-rows.js'
import { HIGHEST_INT } from './schema.js'
import type { Schema } from './schema.js'
import type { AllEventsPage, ReadAllEvents, Reader, Store, Writer } from './store.js'
import { pipeline } from './transaction.js'
import { activeTraceparent } from '../telemetry/spans.js'
import { toMicros } from '../protocol/time.js'
import type { Micros } from '../protocol/time.js'

/**
 * How far lists may be behind the last message, where messages arrive in quick succession: each change moves entries of
 * seven indexes, and makes transactions of other threads conflict with it (docs/decisions/0043).
 */
const MESSAGE_PRECISION = 1_000

interface NewEvents {
  readonly threadId: string
  readonly events: readonly Fact[]
  readonly now: Micros
  /** Whether `now` becomes the thread's last activity. Seven indexes contain that column: skip it where it was just set. @default true */
  readonly movesActivity?: boolean
}

/** Appends the events in this order, with sequences without gaps. */
export async function appendEvents(tx: Writer, appended: NewEvents): Promise<void> {
  const { threadId, events, now } = appended
  if (events.length === 0) return
  noteChange(tx, threadId)
  pipeline(tx, takeSequences(tx, appended))
  // Numbered backwards from the thread's last sequence, which the database has incremented by then: the statements need no answer.
  const rows = packEvents(events, -events.length).map((row) => ({
    ...row,
    first_sequence: beforeLast(threadId, row.first_sequence),
    sequence: beforeLast(threadId, row.sequence),
    thread_id: threadId,
    root_thread_id: sql<string>`(select root_thread_id from threads where id = ${threadId})`,
    at: now,
    trace: activeTrace(),
  }))
  pipeline(tx, tx.insertInto('events').values(rows).execute())
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

/** 0 for a thread without events and for a missing thread. */
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

/** The events after that sequence, in order. */
export async function readEvents(
  db: Reader,
  { threadId, after, limit }: ReadEvents,
): Promise<readonly StoredEvent[]> {
  const last = Math.min(after + limit, HIGHEST_INT - EVENTS_PER_ROW)
  if (after > last) return []
  const rows = await db
    .selectFrom('events')
    .select(['first_sequence', 'sequence', 'at', 'scope', 'events', 'trace'])
    .where('thread_id', '=', threadId)
    .where('sequence', '>', after)
    // The index is by `sequence`: without an upper bound all later rows would be read. Sequences have no gaps, so every
    // row within the bound has events to return.
    .where('sequence', '<', last + EVENTS_PER_ROW)
    .where('first_sequence', '<=', last)
    .orderBy('sequence')
    .limit(limit)
    .execute()
  return rows
    .flatMap(eventsOf)
    .filter(({ sequence }) => sequence > after)
    .slice(0, limit)
}

/** The events that were appended with this time. It reads all rows of the thread. */
export async function readEventsAt(
  db: Reader,
  threadId: string,
  at: Micros,
): Promise<readonly StoredEvent[]> {
  const rows = await db
    .selectFrom('events')
    .select(['first_sequence', 'sequence', 'at', 'scope', 'events', 'trace'])
    .where('thread_id', '=', threadId)
    .where('at', '=', at)
    .execute()
  return rows.flatMap(eventsOf)
}

type ReadRow = Parameters<typeof unpackEvents>[0] & Pick<Selectable<Schema['events']>, 'at' | 'trace'>

function eventsOf(row: ReadRow): readonly StoredEvent[] {
  const { at, trace } = row
  const place = trace === null ? {} : { trace: { traceId: trace.slice(0, 32), spanId: trace.slice(32) } }
  return unpackEvents(row).map((event) => ({ ...event, at, ...place }))
}

/** The active trace as a row has it: the ids of the trace and of the span. */
function activeTrace(): string | null {
  const [, traceId, spanId] = activeTraceparent()?.split('-') ?? []
  return traceId === undefined || spanId === undefined ? null : `${traceId}${spanId}`
}

/** The later of the recorded activity and `now`: clocks of senders differ, and lists by activity must not jump back. */
function laterActivity(now: Micros) {
  return sql<number>`case when last_activity_at < ${now} then ${now} else last_activity_at end`
}

interface Touch {
  readonly threadId: string
  readonly now: Micros
  /** A thread at rest is about to work. */
  readonly wakes: boolean
}

/** Moves the last activity, at most once a second, unless the thread wakes. */
export async function touchThread(tx: Writer, { threadId, now, wakes }: Touch): Promise<void> {
  const touching = tx
    .updateTable('threads')
    .set({ last_activity_at: laterActivity(now), ...(wakes && { session_state: 'active' }) })
    .where('id', '=', threadId)
    .where((where) => {
      const due = where('last_activity_at', '<', now - toMicros(MESSAGE_PRECISION))
      return wakes ? where.or([due, where('session_state', '<>', 'active')]) : due
    })
  pipeline(tx, touching.execute())
}

/**
 * Reads the events of all threads, or of some, in one order into which no later commit can insert a row. On SQLite one transaction
 * writes at a time, so `events.id` is that order. PostgreSQL assigns an id at the insert, and a transaction that commits later can
 * have lower ids than rows that were read before. Its order is therefore the writing transaction, then the id, and only rows of
 * transactions below the horizon are returned: all transactions below it have ended. Within one thread both orders equal the
 * order of sequences, because each append updates the row of the thread.
 */

/** The position of a reader: after that row of that transaction, or after an event within that row. */
interface EventPlace {
  /** A number of any size as text; always 0 on SQLite. */
  readonly writer: string
  readonly id: number
  /** Null: after the whole row. */
  readonly sequence: number | null
}

/** The order of commits in the SQL of a driver. Columns are those of `events`. */
export interface CommitOrder {
  /** The transaction that wrote the row, as text. */
  readonly writer: RawBuilder<string>
  /** 1 if every transaction of this writer and of earlier ones has ended; such rows come first. */
  readonly settled: RawBuilder<number>
  readonly columns: readonly RawBuilder<unknown>[]
  /** Whether a row comes after this one. */
  readonly follows: (writer: string, id: number) => RawBuilder<boolean>
  /** The ends of the order: rows that are not settled are not before the first, and no row is behind the second. */
  readonly ends: RawBuilder<{ readonly settled: string; readonly newest: string }>
}

const BEGINNING: EventPlace = { writer: '0', id: 0, sequence: null }

export async function readAllEvents(
  db: Reader,
  order: CommitOrder,
  { after, rows: limit, of }: ReadAllEvents,
): Promise<AllEventsPage> {
  const place = after === null ? BEGINNING : placeOf(after)
  // The row of the cursor is read again.
  const most = place.sequence === null ? limit : limit + 1
  const rows = await readRows(db, order, { place, limit: most, of })
  const settled = rows.filter((row) => row.settled === 1)
  const events = settled.flatMap((row) =>
    row.events === null
      ? []
      : eventsOf({ ...row, events: row.events })
          .filter(({ sequence }) => !isBefore(place, row, sequence))
          .map((event) => ({
            ...event,
            threadId: row.thread_id,
            sessionId: row.root_thread_id,
            cursor: `${row.writer}.${row.id}.${event.sequence}`,
          })),
  )
  const last = settled.at(-1)
  const next = last === undefined ? (after ?? '0.0') : `${last.writer}.${last.id}`
  return {
    ...{ events, next, rows: settled.length },
    ...{ more: settled.length === most, settled: settled.length === rows.length },
  }
}

/** Whether a cursor within a row is behind this event of it. */
function isBefore(
  place: EventPlace,
  row: { readonly writer: string; readonly id: number },
  sequence: number,
) {
  return (
    place.sequence !== null &&
    row.writer === place.writer &&
    row.id === place.id &&
    sequence <= place.sequence
  )
}

interface ReadRows {
  readonly place: EventPlace
  readonly limit: number
  readonly of: ReadAllEvents['of']
}

/** The rows of other accounts are read without their content, because the position has to move over them. */
async function readRows(db: Reader, { writer, settled, columns, follows }: CommitOrder, read: ReadRows) {
  const { place, limit, of } = read
  const after = place.sequence === null ? place.id : place.id - 1
  const account = of !== undefined && 'account' in of ? of.account : null
  const content =
    account === null
      ? sql<string | null>`events.events`
      : sql<
          string | null
        >`case when (select account from threads where id = events.thread_id) = ${account} then events.events end`
  let query = db
    .selectFrom('events')
    .select(['id', 'thread_id', 'root_thread_id', 'first_sequence', 'sequence', 'at', 'scope', 'trace'])
    .select([writer.as('writer'), settled.as('settled'), content.as('events')])
    .where(follows(place.writer, after))
  if (of !== undefined && 'root' in of) query = query.where('root_thread_id', '=', of.root)
  for (const column of columns) query = query.orderBy(column)
  return query.limit(limit).execute()
}

type EventEnds = Awaited<ReturnType<Store['readEventEnds']>>

/** The cursors of both ends of the order: a reader begins at `settled` to read what is written from now on. */
export async function readEventEnds(db: Reader, { ends }: CommitOrder): Promise<EventEnds> {
  const row = await db
    .selectFrom(ends.as('ends'))
    .select([sql<string>`ends.settled`.as('settled'), sql<string>`ends.newest`.as('newest')])
    .executeTakeFirstOrThrow()
  return row
}

interface EventOfLog {
  readonly threadId: string
  readonly sequence: number
}

/** The cursor behind which this event comes first; null: there is none of that sequence any more. */
export async function readCursorBefore(
  db: Reader,
  { writer }: CommitOrder,
  { threadId, sequence }: EventOfLog,
): Promise<string | null> {
  const row = await db
    .selectFrom('events')
    .select(['id', writer.as('writer')])
    .where('thread_id', '=', threadId)
    .where('first_sequence', '<=', sequence)
    .where('sequence', '>=', sequence)
    .executeTakeFirst()
  return row === undefined ? null : `${row.writer}.${row.id}.${sequence - 1}`
}

/** Whether a cursor is behind the newest row: nothing can have been read there. @throws as `readAllEvents` */
export function isFutureCursor(cursor: string, { newest }: EventEnds): boolean {
  const [place, end] = [placeOf(cursor), placeOf(newest)]
  const [writer, last] = [BigInt(place.writer), BigInt(end.writer)]
  return writer > last || (writer === last && place.id > end.id)
}

const PLACE = /^(\d{1,20})\.(\d{1,15})(?:\.(\d{1,10}))?$/

function placeOf(cursor: string): EventPlace {
  const [, writer, id, sequence] = PLACE.exec(cursor) ?? []
  if (writer === undefined || id === undefined)
    throw new Error('Expected the `next` of an earlier page as `after`, got another text.')
  return { writer, id: Number(id), sequence: sequence === undefined ? null : Number(sequence) }
}
