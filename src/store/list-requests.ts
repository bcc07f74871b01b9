import { sql } from 'kysely'

import { requestFromRow } from './pending.js'
import type { PendingRecord } from './pending.js'
import type { Reader } from './store.js'

export interface RequestFilter {
  readonly threadId?: string
  /** Of one request. */
  readonly id?: string
  /** Of the thread. */
  readonly agent?: string
  readonly userId?: string
  readonly account?: string
  /** Of all threads of a tree, its root too. */
  readonly root?: string
}

/** Where a page ended. */
export interface RequestCursor {
  readonly requestedAt: number
  readonly threadId: string
  readonly id: string
}

export interface ListRequests {
  readonly filter?: RequestFilter
  readonly after?: RequestCursor | null
  readonly limit: number
}

/** A request, with the arguments of the call that waits for it, as the model wrote them. */
export interface ListedRequest {
  readonly request: PendingRecord
  readonly arguments: string | null
}

/** One page of requests that can be answered, oldest first; `next` is null on the last one. */
export async function listRequests(
  db: Reader,
  { filter = {}, after = null, limit }: ListRequests,
): Promise<{ readonly requests: readonly ListedRequest[]; readonly next: RequestCursor | null }> {
  let query = db
    .selectFrom('pending')
    .innerJoin('threads', 'threads.id', 'pending.thread_id')
    .leftJoin('tool_calls', (join) =>
      join
        .onRef('tool_calls.thread_id', '=', 'pending.thread_id')
        .onRef('tool_calls.id', '=', 'pending.call_id'),
    )
    .selectAll('pending')
    .select('tool_calls.arguments')
    // Written out, not bound: only so SQLite sees that the index of open requests holds them all.
    .where('pending.status', '=', sql.lit('open'))
    // T8: whatever is still open in it, a thread that was asked to end takes no answer.
    .where('threads.terminate_requested_at', 'is', null)
    .where('threads.closed_at', 'is', null)
  if (filter.threadId !== undefined) query = query.where('pending.thread_id', '=', filter.threadId)
  if (filter.id !== undefined) query = query.where('pending.id', '=', filter.id)
  if (filter.agent !== undefined) query = query.where('threads.agent', '=', filter.agent)
  if (filter.userId !== undefined) query = query.where('threads.user_id', '=', filter.userId)
  if (filter.account !== undefined) query = query.where('threads.account', '=', filter.account)
  if (filter.root !== undefined) query = query.where('threads.root_thread_id', '=', filter.root)
  if (after !== null)
    query = query.where((where) =>
      where(
        where.refTuple('pending.requested_at', 'pending.thread_id', 'pending.id'),
        '>',
        where.tuple(after.requestedAt, after.threadId, after.id),
      ),
    )
  const rows = await query
    .orderBy('pending.requested_at')
    .orderBy('pending.thread_id')
    .orderBy('pending.id')
    .limit(limit + 1)
    .execute()
  const requests = rows.slice(0, limit).map(({ arguments: args, ...row }) => ({
    request: requestFromRow(row),
    arguments: args,
  }))
  const last = requests.at(-1)?.request
  const more = rows.length > limit && last !== undefined
  return {
    requests,
    next: more ? { requestedAt: last.requested_at, threadId: last.thread_id, id: last.id } : null,
  }
}
