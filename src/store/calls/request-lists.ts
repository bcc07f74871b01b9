import { sql } from 'kysely'
import { LIMITS } from '../../protocol/limits.js'
import type { PermissionDecision } from '../../policy/judge.js'
import type { ToolCallEntry } from '../../protocol/message.js'
import type { QueuedDelivery, QueueMessage, QueueTool } from '../../protocol/messages.js'
import { readReports } from '../reopen/reopened-children.js'
import { listGivenCalls } from '../reopen/reopened-thread.js'
import type { Reader } from '../store.js'
import type { ThreadRecord } from '../threads/threads.js'
import { requestFromRow } from './requests.js'
import type { PendingRecord } from './requests.js'
import type { Micros } from '../../protocol/time.js'

interface RequestFilter {
  readonly threadId?: string
  /** The id of one request. */
  readonly id?: string
  /** The agent of the thread. */
  readonly agent?: string
  readonly userId?: string
  readonly account?: string
  /** Requests of all threads of a tree, including its root. */
  readonly root?: string
}

/** The end of a page. */
export interface RequestCursor {
  readonly requestedAt: Micros
  readonly threadId: string
  readonly id: string
}

interface ListRequests {
  readonly filter?: RequestFilter
  readonly after?: RequestCursor | null
  readonly limit: number
}

/** A request, with the arguments of the call that waits for it, as the model wrote them. */
export interface ListedRequest {
  readonly request: PendingRecord
  readonly arguments: string | null
  /** Why a person is asked about the call. */
  readonly decision: PermissionDecision | null
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
    .select(['tool_calls.arguments', 'tool_calls.decision'])
    // A literal, not a parameter: otherwise SQLite would not use the partial index of open requests.
    .where('pending.status', '=', sql.lit('open'))
    // T8: a thread that is to be terminated takes no answers, even if requests are open.
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
  const requests = rows.slice(0, limit).map(({ arguments: args, decision, ...row }) => ({
    request: requestFromRow(row),
    arguments: args,
    // Written by `recordDecision`: the store's boundary.
    decision: decision === null ? null : (JSON.parse(decision) as PermissionDecision),
  }))
  const last = requests.at(-1)?.request
  const more = rows.length > limit && last !== undefined
  return {
    requests,
    next: more ? { requestedAt: last.requested_at, threadId: last.thread_id, id: last.id } : null,
  }
}

/** A queued message, and the signal that announces it to the workflow. */
export type WaitingItem = { readonly id: string; readonly createdAt: Micros } & (
  | { readonly kind: 'message'; readonly message: Extract<QueueMessage, { readonly messageId: string }> }
  | { readonly kind: 'tool'; readonly tool: QueueTool }
)

/**
 * The queued items of a thread in the order in which their rows were written. A reopened thread takes them in this order: the
 * order of their signals is lost with the workflow (T3).
 */
export async function waitingItems(
  db: Reader,
  thread: Pick<ThreadRecord, 'id' | 'parent_thread_id' | 'parent_call_id'>,
): Promise<readonly WaitingItem[]> {
  const { id } = thread
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'role', 'sent_by', 'tool_calls', 'created_at', 'deliver'])
    .where('thread_id', '=', id)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .orderBy('created_at')
    .orderBy('id')
    .limit(2 * LIMITS.queuedItems)
    .execute()
  const isAsked = rows.some((row) => row.sent_by === 'parent')
  const given = isAsked ? await listGivenCalls(db, thread) : []
  const { answered } = isAsked ? await readReports(db, id) : { answered: new Set<string>() }
  const callOf = (messageId: string): string | undefined =>
    given.find((call) => call.messageId === messageId && !answered.has(call.callId))?.callId
  return rows.flatMap((row) => itemOf(row, callOf(row.id)) ?? [])
}

interface Row {
  readonly id: string
  readonly role: string
  readonly sent_by: string
  readonly tool_calls: string | null
  readonly created_at: Micros
  readonly deliver: string | null
}

function itemOf(row: Row, invocation: string | undefined): WaitingItem | null {
  const { id, role, sent_by: sentBy, tool_calls: calls, created_at: createdAt, deliver } = row
  if (calls !== null) {
    const [call] = JSON.parse(calls) as readonly ToolCallEntry[]
    if (call === undefined) return null
    return { id, createdAt, kind: 'tool', tool: { toolCallId: call.id, name: call.function.name } }
  }
  const from = senderOf(sentBy)
  const message = {
    messageId: id,
    role: role === 'assistant' ? ('assistant' as const) : ('user' as const),
    ...(from !== null && { from }),
    ...(invocation !== undefined && { invocation }),
    // Written by `messageToRow`: the store's boundary.
    ...(deliver !== null && { deliver: deliver as QueuedDelivery }),
  }
  return { id, createdAt, kind: 'message', message }
}

/** Null for clients and the command line: only their messages clear the stop flag. */
function senderOf(sentBy: string): 'parent' | 'child' | 'tool' | null {
  if (sentBy === 'client' || sentBy === 'cli') return null
  return sentBy === 'parent' || sentBy === 'child' ? sentBy : 'tool'
}
