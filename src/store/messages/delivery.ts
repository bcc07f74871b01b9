import { sql } from 'kysely'
import type { Permissions } from '../../policy/permissions.js'
import type { AttachmentRef, Message } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'
import { noteChange } from '../changes.js'
import type { Reader, Writer } from '../store.js'
import { readRules } from '../threads/run-permissions.js'
import { pipeline } from '../transaction.js'
import { messageFromRow, messageToRow } from './message-row.js'
import type { NewMessage } from './message-row.js'
import { findMessages } from './transcript.js'

interface Delivery {
  readonly threadId: string
  readonly ids: readonly string[]
  readonly run: number
  readonly step: number
  /** Messages as create hooks changed them, by id. */
  readonly changed?: ReadonlyMap<string, ChangedMessage>
}

export type ChangedMessage = Pick<Message, 'content' | 'silent' | 'metadata' | 'attachments'>

interface Delivered {
  readonly messages: readonly Message[]
  /** The rules that all messages among the ids bring to their run, also those that were delivered before. */
  readonly brought: readonly Permissions[]
}

const NOTHING: Delivered = { messages: [], brought: [] }

/**
 * T3: gives each of these queued messages the next place in the transcript, in the order of `ids`, and returns those
 * messages. Skips ids that are unknown, of another thread, delivered, rejected or repeated.
 */
export async function deliverMessages(
  tx: Writer,
  { threadId, ids, run, step, changed }: Delivery,
): Promise<Delivered> {
  if (ids.length === 0) return NOTHING
  const found = await tx
    .selectFrom('messages')
    .select(['id', 'position', 'run_permissions'])
    .where('id', 'in', [...new Set(ids)])
    .where('thread_id', '=', threadId)
    .where((where) => where.or([where('position', 'is not', null), where('status', '=', 'pending')]))
    .execute()
  const brought = found.flatMap((message) => readRules(message.run_permissions))
  const queued = found.filter(({ position }) => position === null)
  if (queued.length === 0) return { messages: [], brought }
  const open = new Set(queued.map((message) => message.id))
  const first = await allocatePositions(tx, threadId, open.size)
  const delivered: Message[] = []
  for (const id of ids) {
    if (!open.delete(id)) continue
    const row = await tx
      .updateTable('messages')
      .set({
        position: first + delivered.length,
        status: 'completed',
        run,
        step,
        ...toChangedColumns(changed?.get(id)),
      })
      .where('thread_id', '=', threadId)
      .where('id', '=', id)
      .where('position', 'is', null)
      .returningAll()
      .executeTakeFirstOrThrow()
    delivered.push(messageFromRow(row))
  }
  return { messages: delivered, brought }
}

function toChangedColumns(message: ChangedMessage | undefined) {
  if (message === undefined) return {}
  const { content, silent, metadata, attachments } = message
  return {
    content,
    silent: silent ? 1 : 0,
    metadata: metadata === null ? null : JSON.stringify(metadata),
    attachments: JSON.stringify(attachments),
  }
}

/** The queued messages among these ids, in this order: what a drain would deliver. */
export async function readUndelivered(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<readonly Message[]> {
  const found = await findMessages(db, threadId, ids)
  return [...found.values()].filter(({ position, status }) => position === null && status === 'pending')
}

/**
 * T3: create hooks refused these messages: their ids, each with that of its hook. They never enter the transcript; their rows stay,
 * with that status. Returns the ids of those that waited until now.
 */
export async function refuseMessages(
  tx: Writer,
  threadId: string,
  refused: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const ended: string[] = []
  for (const [id, hook] of refused) {
    const { numUpdatedRows } = await tx
      .updateTable('messages')
      .set({ status: 'refused', refused_by: hook })
      .where('id', '=', id)
      .where('thread_id', '=', threadId)
      .where('position', 'is', null)
      .where('status', '=', 'pending')
      .executeTakeFirst()
    if (numUpdatedRows === 1n) ended.push(id)
  }
  return ended
}

/** Appends a message of the thread itself to the transcript. */
export async function appendMessage(tx: Writer, message: NewMessage): Promise<void> {
  pipeline(tx, allocatePositions(tx, message.threadId, 1))
  const position = sql<number>`(select last_position from threads where id = ${message.threadId})`
  // No sender can send this id again: the digest of whatever it gives differs from this one.
  const row = { ...messageToRow(message), position, digest: '' }
  pipeline(tx, tx.insertInto('messages').values(row).execute())
}

/** T8: rejects all queued messages; returns their ids. */
export async function rejectUndelivered(tx: Writer, threadId: string): Promise<readonly string[]> {
  const rows = await tx
    .updateTable('messages')
    .set({ status: 'rejected' })
    .where('thread_id', '=', threadId)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .returning('id')
    .execute()
  return rows.map((row) => row.id)
}

export interface ToolResultOfReport {
  readonly threadId: string
  readonly messageId: string
  readonly toolCallId: string
  readonly name: string
  readonly content: string | null
  readonly toolStatus: 'success' | 'error'
  readonly attachments: readonly AttachmentRef[]
  readonly parentId?: string | null
  readonly depth?: number
  readonly run: number
  readonly step: number
  readonly side: Side
}

/**
 * T7: turns the queued report of a child into the result of the call that waited for it, at the end of the transcript.
 * Returns null if the report is not queued.
 */
export async function turnIntoToolResult(tx: Writer, result: ToolResultOfReport): Promise<number | null> {
  const queued = await tx
    .selectFrom('messages')
    .select('id')
    .where('id', '=', result.messageId)
    .where('thread_id', '=', result.threadId)
    .where('subagent_id', 'is not', null)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .executeTakeFirst()
  if (queued === undefined) return null
  const position = await allocatePositions(tx, result.threadId, 1)
  await tx
    .updateTable('messages')
    .set({
      position,
      role: 'tool',
      name: result.name,
      content: result.content,
      tool_call_id: result.toolCallId,
      tool_status: result.toolStatus,
      attachments: JSON.stringify(result.attachments),
      parent_id: result.parentId ?? null,
      depth: result.depth ?? 0,
      silent: 0,
      status: 'completed',
      run: result.run,
      step: result.step,
      side: result.side,
    })
    .where('thread_id', '=', result.threadId)
    .where('id', '=', result.messageId)
    .where('position', 'is', null)
    .execute()
  return position
}

/** T3: allocates the next `count` places of the transcript, without gaps; returns the first one. */
async function allocatePositions(tx: Writer, threadId: string, count: number): Promise<number> {
  noteChange(tx, threadId)
  const thread = await tx
    .updateTable('threads')
    .set((update) => ({ last_position: update('last_position', '+', count) }))
    .where('id', '=', threadId)
    .returning('last_position')
    .executeTakeFirst()
  if (thread === undefined) throw new Error(`Expected a row of thread ${threadId}, got none`)
  return thread.last_position - count + 1
}

/** The messages among these that belong to a later run without an end: a reset in Temporal lost that run. */
export async function listUnanswered(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('messages')
    .leftJoin('runs', (join) =>
      join.onRef('runs.thread_id', '=', 'messages.thread_id').onRef('runs.number', '=', 'messages.run'),
    )
    .select('messages.id')
    .where('messages.thread_id', '=', threadId)
    .where('messages.id', 'in', [...new Set(ids)])
    .where('messages.run', '>', run)
    .where('runs.ended_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}
