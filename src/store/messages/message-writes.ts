import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { touchThread } from '../events.js'
import type { Reader, Writer } from '../store.js'
import { messageFromRow, messageToRow } from './message-row.js'
import type { MessageSender, NewMessage } from './message-row.js'

/** A message on its way into a thread's queue. */
export interface MessageDraft extends Omit<NewMessage, 'status' | 'run' | 'step'> {
  /** Of what the sender gave, so that the same id with other content is refused. */
  readonly digest: string
}

/**
 * `same`: sent before, whatever became of it since; `conflict`: the thread has other content under the id;
 * `terminated`: the thread is closed, or the message was rejected when it closed.
 */
export type StageResult = 'staged' | 'same' | 'conflict' | 'terminated' | 'missing_thread' | 'queue_full'

/**
 * Other rows were let in before: those of the runtime by the workflow's own queue (T3), and a child's report because a
 * parent whose queue is full may be waiting for that very report, and drains nothing before it (T7).
 */
const BOUNDED: readonly MessageSender[] = ['client', 'tool', 'hook', 'effect', 'parent']

/** Accepts a message: its row is there, without a place in the transcript, before anything learns its id (T2). */
export async function stageMessage(tx: Writer, draft: MessageDraft): Promise<StageResult> {
  const known = await tx
    .selectFrom('messages')
    .select(['digest', 'status'])
    .where('thread_id', '=', draft.threadId)
    .where('id', '=', draft.id)
    .executeTakeFirst()
  if (known !== undefined) {
    if (known.digest !== draft.digest) return 'conflict'
    return known.status === 'rejected' ? 'terminated' : 'same'
  }
  const thread = await tx
    .selectFrom('threads')
    .select(['terminate_requested_at', 'closed_at'])
    .where('id', '=', draft.threadId)
    .executeTakeFirst()
  if (thread === undefined) return 'missing_thread'
  // T8: the row is the authority, also after Temporal has forgotten the workflow.
  if (thread.terminate_requested_at !== null || thread.closed_at !== null) return 'terminated'
  const queue = await queueOf(tx, draft.threadId)
  if (BOUNDED.includes(draft.sentBy) && queue.length >= LIMITS.queuedItems) return 'queue_full'
  // Those that wait are listed in the order in which their rows were written, whatever the clocks of their senders say. That is
  // not always the order of delivery: the workflow takes them as their signals come, and of two that are sent at the same time the
  // later row may have the earlier signal. Only the workflow knows.
  const createdAt = Math.max(draft.createdAt, queue.newest + 1)
  await tx
    .insertInto('messages')
    .values({
      ...messageToRow({ ...draft, createdAt, status: 'pending' }),
      position: null,
      digest: draft.digest,
    })
    .execute()
  await touchThread(tx, draft.threadId, draft.createdAt)
  return 'staged'
}

/** Messages that wait for a place in the transcript. */
export async function countUndelivered(db: Reader, threadId: string): Promise<number> {
  return (await queueOf(db, threadId)).length
}

/** `newest`: when the last one was created, 0 if there is none. */
async function queueOf(
  db: Reader,
  threadId: string,
): Promise<{ readonly length: number; readonly newest: number }> {
  const { length, newest } = await db
    .selectFrom('messages')
    .select((select) => [select.fn.countAll<number>().as('length'), select.fn.max('created_at').as('newest')])
    .where('thread_id', '=', threadId)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow()
  // Kysely's type of a greatest value leaves out that of no rows.
  return { length, newest: (newest as number | null) ?? 0 }
}

/** A message with the run and step that took or made it. */
interface PlacedMessage {
  readonly message: Message
  readonly run: number | null
  readonly step: number | null
}

/** One that is in the transcript or still queued: others never get there and are left as they are. */
export async function findLiveMessage(
  db: Reader,
  threadId: string,
  id: string,
): Promise<PlacedMessage | null> {
  const row = await db
    .selectFrom('messages')
    .selectAll()
    .where('id', '=', id)
    .where('thread_id', '=', threadId)
    .where((where) => where.or([where('position', 'is not', null), where('status', '=', 'pending')]))
    .executeTakeFirst()
  return row === undefined ? null : { message: messageFromRow(row), run: row.run, step: row.step }
}

/** What changes of a message; metadata is merged into what it has by then. */
interface MessageChange {
  readonly threadId: string
  readonly id: string
  readonly content?: string | undefined
  readonly silent?: boolean | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** False if it is not there any more. */
export async function changeMessage(tx: Writer, change: MessageChange): Promise<boolean> {
  const { threadId, id, content, silent, metadata } = change
  const found = await findLiveMessage(tx, threadId, id)
  if (found === null) return false
  const merged = metadata === undefined ? undefined : { ...found.message.metadata, ...metadata }
  await tx
    .updateTable('messages')
    .set({
      // A change of nothing is a statement too.
      content: content ?? found.message.content,
      ...(silent === undefined ? {} : { silent: silent ? 1 : 0 }),
      ...(merged === undefined ? {} : { metadata: JSON.stringify(merged) }),
    })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
  return true
}

/** `deleted`: it was in the transcript. `removed`: it was queued, and stays as a row that says so. */
export async function deleteMessage(
  tx: Writer,
  threadId: string,
  id: string,
): Promise<'deleted' | 'removed' | 'missing'> {
  const found = await findLiveMessage(tx, threadId, id)
  if (found === null) return 'missing'
  if (found.message.position === null) {
    await markMessageRemoved(tx, threadId, id)
    return 'removed'
  }
  await tx.deleteFrom('messages').where('thread_id', '=', threadId).where('id', '=', id).execute()
  return 'deleted'
}

/** The row of a message that waits stays, and says that it never gets its place. */
export async function markMessageRemoved(tx: Writer, threadId: string, id: string): Promise<void> {
  await tx
    .updateTable('messages')
    .set({ status: 'removed' })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
}

/** Takes back the row of what waits, as if it had never been sent. */
export async function deleteWaiting(tx: Writer, threadId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('messages')
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('position', 'is', null)
    .execute()
}
