import { sql } from 'kysely'
import type { EventScope, Fact } from '../protocol/facts.js'
import type { JsonObject } from '../protocol/values.js'
import { noteChange } from './changes.js'
import { EVENTS_PER_ROW, packEvents, unpackEvents } from './event-rows.js'
import { HIGHEST_INT } from './highest-int.js'
import { meanwhile } from './meanwhile.js'
import type { Reader, Writer } from './store.js'
import { laterActivity } from './touch-thread.js'

/** Ids, names and numbers; texts are joined when events are delivered. */
export type NewEvent = Fact

export interface StoredEvent {
  /** Per thread, from 1, without gaps. */
  readonly sequence: number
  readonly type: string
  /** Microseconds since 1970. */
  readonly at: number
  readonly scope: EventScope
  readonly payload: JsonObject
}

export interface NewEvents {
  readonly threadId: string
  readonly events: readonly NewEvent[]
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

export interface ReadEvents {
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
