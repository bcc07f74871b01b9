/** Contradictions between the rows of a store: reads of `everthread doctor`. */
import { sql } from 'kysely'
import { answerFate, requestFromRow } from './calls/requests.js'
import type { PendingRecord } from './calls/requests.js'
import type { Reader } from './store.js'
import type { Micros } from '../protocol/time.js'

export interface Page {
  /** The end of the previous page; '' for the first page. */
  readonly after: string
  readonly limit: number
}

/** Open threads of a depth, by id. */
export async function openThreadIds(
  db: Reader,
  { depth, after, limit }: Page & { readonly depth: number },
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('threads')
    .select('id')
    .where('closed_at', 'is', null)
    .where('depth', '=', depth)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** The depth of the deepest open thread. */
export async function deepestOpen(db: Reader): Promise<number> {
  const row = await db
    .selectFrom('threads')
    .select(sql<number | null>`max(depth)`.as('depth'))
    .where('closed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(row.depth ?? 0)
}

/** Describes a contradiction between the counters of a thread and its rows; null if there is none. */
export async function numberProblem(db: Reader, threadId: string): Promise<string | null> {
  const before = await countersOf(db, threadId)
  const events = await db
    .selectFrom('events')
    .select(sql<number | null>`sum(sequence - first_sequence + 1)`.as('count'))
    .where('thread_id', '=', threadId)
    .where('sequence', '<=', before.sequence)
    .executeTakeFirstOrThrow()
  const missing = before.sequence - Number(events.count ?? 0)
  if (missing !== 0) return `${missing} of ${before.sequence} events are missing`
  const messages = await db
    .selectFrom('messages')
    .select(sql<number | null>`max(position)`.as('last'))
    .where('thread_id', '=', threadId)
    .executeTakeFirstOrThrow()
  const last = Number(messages.last ?? 0)
  // Only the highest position counts, because messages may be deleted. Each statement sees its own newest commit, so the counters are read again.
  const { position } = await countersOf(db, threadId)
  return last > position
    ? `a message has position ${last}, behind the last one that was assigned (${position})`
    : null
}

async function countersOf(
  db: Reader,
  threadId: string,
): Promise<{ readonly sequence: number; readonly position: number }> {
  const row = await db
    .selectFrom('threads')
    .select(['last_sequence as sequence', 'last_position as position'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  return row ?? { sequence: 0, position: Number.MAX_SAFE_INTEGER }
}

/** Open requests of closed threads. */
export async function listRequestsOfClosedThreads(
  db: Reader,
  limit: number,
): Promise<readonly { readonly threadId: string; readonly id: string }[]> {
  return db
    .selectFrom('pending')
    .innerJoin('threads', 'threads.id', 'pending.thread_id')
    .select(['pending.thread_id as threadId', 'pending.id'])
    .where('pending.status', '=', sql.lit('open'))
    .where('threads.closed_at', 'is not', null)
    .orderBy('pending.thread_id')
    .orderBy('pending.id')
    .limit(limit)
    .execute()
}

/** Requests of a thread that were answered before that time and whose answer is unused. */
export async function listUnusedAnswers(
  db: Reader,
  { threadId, before }: { readonly threadId: string; readonly before: Micros },
): Promise<readonly PendingRecord[]> {
  const rows = await db
    .selectFrom('pending')
    .leftJoin('tool_calls', (join) =>
      join
        .onRef('tool_calls.thread_id', '=', 'pending.thread_id')
        .onRef('tool_calls.id', '=', 'pending.call_id'),
    )
    .selectAll('pending')
    .where('pending.thread_id', '=', threadId)
    .where('pending.status', '=', 'answered')
    .where('pending.answered_at', '<', before)
    // Nearly all calls have ended: their answers were used or are obsolete.
    .where((where) =>
      where.or([where('tool_calls.status', '=', 'open'), where('pending.kind', '=', 'variables')]),
    )
    .orderBy('pending.requested_at')
    .orderBy('pending.id')
    .execute()
  const untaken: PendingRecord[] = []
  for (const request of rows.map(requestFromRow))
    if ((await answerFate(db, request)) === 'waiting') untaken.push(request)
  return untaken
}

/** Closed children that are open in the registry of their open parent. */
export async function listUnreportedChildren(
  db: Reader,
  { closedBefore, limit }: { readonly closedBefore: Micros; readonly limit: number },
): Promise<readonly { readonly threadId: string; readonly reference: string; readonly status: string }[]> {
  return db
    .selectFrom('children')
    .innerJoin('threads as child', 'child.id', 'children.reference')
    .innerJoin('threads as parent', 'parent.id', 'children.parent_thread_id')
    .select(['parent.id as threadId', 'children.reference', 'child.status'])
    .where('children.closed_at', 'is', null)
    .where('child.closed_at', 'is not', null)
    .where('child.closed_at', '<', closedBefore)
    .where('parent.closed_at', 'is', null)
    .orderBy('children.reference')
    .limit(limit)
    .execute()
}

/** Digests that files name, in order. */
export async function listFileDigests(db: Reader, { after, limit }: Page): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('files')
    .select('blob')
    .distinct()
    .where('blob', 'is not', null)
    .where('blob', '>', after)
    .orderBy('blob')
    .limit(limit)
    .execute()
  return rows.flatMap(({ blob }) => (blob === null ? [] : [blob]))
}

/** A thread that names these bytes. */
export async function findThreadWithBlob(db: Reader, digest: string): Promise<string | null> {
  const row = await db
    .selectFrom('files')
    .select('thread_id')
    .where('blob', '=', digest)
    .limit(1)
    .executeTakeFirst()
  return row?.thread_id ?? null
}
