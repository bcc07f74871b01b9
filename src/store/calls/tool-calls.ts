import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { AttachmentRef, ToolCallEntry } from '../../protocol/message.js'
import type { KeptDecision } from '../../policy/action-record.js'
import type { Side } from '../../protocol/plan.js'
import type { ToolFailure } from '../../protocol/payloads/tool-failure.js'
import type { JsonValue } from '../../protocol/values.js'
import { rowCodec } from '../row-codec.js'
import type { Decoded } from '../row-codec.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import { pipeline } from '../transaction.js'
import type { Micros } from '../../protocol/time.js'

export type ToolCallStatus =
  | 'open'
  | 'succeeded'
  | 'failed'
  | 'denied'
  | 'interrupted'
  | 'cancelled'
  | 'unknown'

/** How a session tool ended its session. */
export interface SessionCall {
  readonly kind: 'stop' | 'fail'
  readonly message: string
  readonly attachments: readonly AttachmentRef[]
}

type Columns = {
  side: Side
  status: ToolCallStatus
  session: SessionCall | null
  decision: KeptDecision | null
  failure: ToolFailure | null
}

export type ToolCallRecord = Decoded<Selectable<Schema['tool_calls']>, Columns>

/** Columns that are left out have the values of an open call. */
type NewToolCall = Omit<
  ToolCallRecord,
  | 'status'
  | 'error_code'
  | 'parent_call_id'
  | 'result_message_id'
  | 'session'
  | 'decision'
  | 'failure'
  | 'started_at'
  | 'finished_at'
> &
  Partial<ToolCallRecord>

const codec = rowCodec<Selectable<Schema['tool_calls']>, Columns>({
  json: ['session', 'decision', 'failure'],
})

export async function insertToolCalls(tx: Writer, calls: readonly NewToolCall[]): Promise<void> {
  if (calls.length === 0) return
  const rows = calls.map((call) => codec.toRow({ status: 'open' as const, ...call }))
  pipeline(tx, tx.insertInto('tool_calls').values(rows).execute())
}

export async function findToolCall(
  db: Reader,
  threadId: string,
  callId: string,
): Promise<ToolCallRecord | null> {
  const row = await db
    .selectFrom('tool_calls')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
    .executeTakeFirst()
  return row === undefined ? null : codec.fromRow(row)
}

/** The arguments of a call that is judged. Broken JSON never comes that far: such a call fails before. */
export function argumentsOf({ arguments: text }: Pick<ToolCallRecord, 'arguments'>): JsonValue {
  return text.trim() === '' ? {} : (JSON.parse(text) as JsonValue)
}

/** The calls that the nested step of a call made, in order. */
export async function listNestedToolCalls(
  db: Reader,
  threadId: string,
  parentCallId: string,
): Promise<readonly ToolCallRecord[]> {
  const rows = await db
    .selectFrom('tool_calls')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('parent_call_id', '=', parentCallId)
    .orderBy('call_index')
    .execute()
  return rows.map(codec.fromRow)
}

/** Assigns a call that was queued outside of a step to the step that runs it. */
export async function adoptToolCall(
  tx: Writer,
  {
    threadId,
    callId,
    run,
    step,
    side,
  }: Pick<ToolCallRecord, 'run' | 'step' | 'side'> & { readonly threadId: string; readonly callId: string },
): Promise<void> {
  await tx
    .updateTable('tool_calls')
    .set({ run, step, side })
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
    .where('status', '=', 'open')
    .execute()
}

interface StartedToolCall {
  readonly threadId: string
  readonly callId: string
  readonly now: Micros
  /** Null: the row has it. */
  readonly decision: KeptDecision | null
  /** Those that a hook or a person gave; the message keeps what the model wrote. */
  readonly arguments?: string
}

/** Records the time of the first start, and the decision that allowed it. */
export async function startToolCall(
  tx: Writer,
  { threadId, callId, now, decision, ...changed }: StartedToolCall,
): Promise<void> {
  const starting = tx
    .updateTable('tool_calls')
    .set(codec.toRow({ started_at: now, ...changed, ...(decision === null ? {} : { decision }) }))
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
    .where('started_at', 'is', null)
  pipeline(tx, starting.execute())
}

interface DecidedToolCall {
  readonly threadId: string
  readonly callId: string
  readonly decision: KeptDecision
  /** Those that hooks gave. @default they stay as they are */
  readonly arguments?: string
}

/** Records the decision about a call that does not begin, or not yet. */
export async function recordDecision(
  tx: Writer,
  { threadId, callId, decision, arguments: changed }: DecidedToolCall,
): Promise<void> {
  await tx
    .updateTable('tool_calls')
    .set(codec.toRow({ decision, ...(changed !== undefined && { arguments: changed }) }))
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
    .execute()
}

/** Whether a call of the same name has failed in the run, or nobody knows how it ended. */
export async function hasFailedCall(
  db: Reader,
  { thread_id: threadId, run, name }: Pick<ToolCallRecord, 'thread_id' | 'run' | 'name'>,
): Promise<boolean> {
  const failed = await db
    .selectFrom('tool_calls')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('name', '=', name)
    .where('status', 'in', ['failed', 'unknown'])
    .executeTakeFirst()
  return failed !== undefined
}

interface DecidedCalls {
  readonly threadId: string
  /** Only that call. */
  readonly callId?: string | undefined
  readonly limit: number
}

/** The newest calls of a thread about which was decided, the oldest of them first. */
export async function listDecidedCalls(
  db: Reader,
  { threadId, callId, limit }: DecidedCalls,
): Promise<readonly ToolCallRecord[]> {
  let query = db
    .selectFrom('tool_calls')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('decision', 'is not', null)
  if (callId !== undefined) query = query.where('id', '=', callId)
  const rows = await query
    .orderBy('run', 'desc')
    .orderBy('step', 'desc')
    .orderBy('call_index', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.toReversed().map(codec.fromRow)
}

interface FinishedToolCall {
  readonly threadId: string
  readonly callId: string
  readonly status: Exclude<ToolCallStatus, 'open'>
  readonly errorCode?: string | null
  readonly resultMessageId?: string | null
  readonly session?: SessionCall | null
  /** Left out or null: `status` and `errorCode` say what is known. */
  readonly failure?: ToolFailure | null
  readonly now: Micros
}

/** T4: finishes an open call. Returns false if it has an outcome or does not exist. */
export async function finishToolCall(tx: Writer, call: FinishedToolCall): Promise<boolean> {
  const patch = {
    status: call.status,
    error_code: call.errorCode ?? null,
    result_message_id: call.resultMessageId ?? null,
    session: call.session ?? null,
    failure: call.failure ?? null,
    finished_at: call.now,
  }
  const result = await tx
    .updateTable('tool_calls')
    .set(codec.toRow(patch))
    .where('thread_id', '=', call.threadId)
    .where('id', '=', call.callId)
    .where('status', '=', 'open')
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Open calls in the order of their steps and indexes, of one run or of all. */
export async function listOpenToolCalls(
  db: Reader,
  threadId: string,
  run?: number,
): Promise<readonly ToolCallRecord[]> {
  let query = db
    .selectFrom('tool_calls')
    .selectAll()
    .where('thread_id', '=', threadId)
    // A literal, not a parameter: otherwise SQLite would not use the partial index of open calls.
    .where('status', '=', sql.lit('open'))
  if (run !== undefined) query = query.where('run', '=', run)
  const rows = await query.orderBy('run').orderBy('step').orderBy('call_index').execute()
  return rows.map(codec.fromRow)
}

interface ErasedCall {
  readonly threadId: string
  readonly callId: string
  /** The assistant message that made the call. */
  readonly messageId: string
}

/** The change of the message; null if it is missing or holds no such call. */
type ErasedFrom = 'message.updated' | 'message.deleted' | null

/**
 * Removes a call from the message that made it, so that no further model request contains it. A message without other content
 * is deleted. The row of the call stays.
 */
export async function eraseCall(
  tx: Writer,
  { threadId, callId, messageId }: ErasedCall,
): Promise<ErasedFrom> {
  const row = await tx
    .selectFrom('messages')
    .select(['content', 'tool_calls', 'attachments'])
    .where('id', '=', messageId)
    .where('thread_id', '=', threadId)
    .executeTakeFirst()
  if (row?.tool_calls == null) return null
  // Written by `messageToRow`: the store's boundary.
  const calls = JSON.parse(row.tool_calls) as readonly ToolCallEntry[]
  const left = calls.filter(({ id }) => id !== callId)
  if (left.length === calls.length) return null
  const bare = (row.content ?? '').trim() === '' && row.attachments === '[]'
  if (left.length === 0 && bare) {
    await tx.deleteFrom('messages').where('thread_id', '=', threadId).where('id', '=', messageId).execute()
    return 'message.deleted'
  }
  await tx
    .updateTable('messages')
    .set({ tool_calls: left.length === 0 ? null : JSON.stringify(left) })
    .where('thread_id', '=', threadId)
    .where('id', '=', messageId)
    .execute()
  return 'message.updated'
}
