import { LIMITS } from '../protocol/limits.js'
import type { ToolCallEntry } from '../protocol/message.js'
import type { QueueMessage, QueueTool } from '../protocol/messages.js'
import { reportsOf } from './reopen/child-calls.js'
import { callsGiven } from './reopen/read-reopened.js'
import type { Reader } from './store.js'
import type { ThreadRecord } from './threads.js'

/** A row that waits for its place in the transcript, and the signal that its workflow is told of it with. */
export type WaitingItem = { readonly id: string; readonly createdAt: number } & (
  | { readonly kind: 'message'; readonly message: Extract<QueueMessage, { readonly messageId: string }> }
  | { readonly kind: 'tool'; readonly tool: QueueTool }
)

/**
 * In the order in which their rows were written, which a thread that is opened again takes them in: that of its signals is lost
 * with its workflow (T3).
 */
export async function waitingItems(
  db: Reader,
  thread: Pick<ThreadRecord, 'id' | 'parent_thread_id' | 'parent_call_id'>,
): Promise<readonly WaitingItem[]> {
  const { id, parent_thread_id: parentThreadId, parent_call_id: firstCall } = thread
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'role', 'sent_by', 'tool_calls', 'created_at'])
    .where('thread_id', '=', id)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .orderBy('created_at')
    .orderBy('id')
    .limit(2 * LIMITS.queuedItems)
    .execute()
  const isAsked = rows.some((row) => row.sent_by === 'parent')
  const given = isAsked ? await callsGiven(db, { id, parentThreadId, firstCall }) : []
  const { answered } = isAsked ? await reportsOf(db, id) : { answered: new Set<string>() }
  const callOf = (messageId: string): string | undefined =>
    given.find((call) => call.messageId === messageId && !answered.has(call.callId))?.callId
  return rows.flatMap((row) => itemOf(row, callOf(row.id)) ?? [])
}

interface Row {
  readonly id: string
  readonly role: string
  readonly sent_by: string
  readonly tool_calls: string | null
  readonly created_at: number
}

function itemOf(row: Row, invocation: string | undefined): WaitingItem | null {
  const { id, role, sent_by: sentBy, tool_calls: calls, created_at: createdAt } = row
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
  }
  return { id, createdAt, kind: 'message', message }
}

/** What a client or the command line sent clears the stop flag; nothing else does. */
function senderOf(sentBy: string): 'parent' | 'child' | 'tool' | null {
  if (sentBy === 'client' || sentBy === 'cli') return null
  return sentBy === 'parent' || sentBy === 'child' ? sentBy : 'tool'
}
