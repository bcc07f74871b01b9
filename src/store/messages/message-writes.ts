import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { touchThread } from '../events.js'
import type { Reader, Writer } from '../store.js'
import { broughtColumn } from '../threads/run-permissions.js'
import type { BroughtRules } from '../threads/run-permissions.js'
import { messageFromRow, messageToRow } from './message-row.js'
import type { MessageSender, NewMessage } from './message-row.js'

/** A message on its way into a thread's queue. */
export interface MessageDraft extends Omit<NewMessage, 'status' | 'run' | 'step'> {
  /** Digest of what the sender gave, so that the same id with other content is refused. */
  readonly digest: string
  /** The rules that it brings to the run that takes it. @default none */
  readonly brings?: BroughtRules | undefined
}

/**
 * `same`: sent before, in whatever state it is now; `conflict`: the thread has other content under the id;
 * `terminated`: the thread is closed, or the message was rejected when it closed.
 */
export type StageResult = 'staged' | 'same' | 'conflict' | 'terminated' | 'missing_thread' | 'queue_full'

/**
 * The senders that the bound of the queue applies to. Other rows were admitted before: the runtime's by the queue of the
 * workflow (T3), and a child's report because a parent with a full queue may be waiting for that very report, and drains
 * nothing before it (T7).
 */
const BOUNDED: readonly MessageSender[] = ['client', 'tool', 'hook', 'effect', 'parent']

/** The senders whose message wakes a thread that is stopped, too. */
const WAKING: readonly MessageSender[] = ['client', 'cli', 'parent']

/** T2: accepts a message. Its row is stored, without a place in the transcript, before any signal carries its id. */
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
  // T8: the row of the thread decides, also after Temporal has deleted the workflow.
  if (thread.terminate_requested_at !== null || thread.closed_at !== null) return 'terminated'
  const queue = await queueOf(tx, draft.threadId)
  if (BOUNDED.includes(draft.sentBy) && queue.length >= LIMITS.queuedItems) return 'queue_full'
  // Queued messages are listed in the order in which their rows were written, whatever the clocks of their senders show. The
  // order of delivery may differ: the workflow takes them in the order of their signals, and of two messages that are sent at
  // the same time the later row may have the earlier signal.
  const createdAt = Math.max(draft.createdAt, queue.newest + 1)
  await tx
    .insertInto('messages')
    .values({
      ...messageToRow({ ...draft, createdAt, status: 'pending' }),
      position: null,
      digest: draft.digest,
      run_permissions: broughtColumn(draft.brings),
    })
    .execute()
  const { threadId, createdAt: now } = draft
  await touchThread(tx, { threadId, now, wakes: WAKING.includes(draft.sentBy) })
  return 'staged'
}

/** The number of queued messages. */
export async function countUndelivered(db: Reader, threadId: string): Promise<number> {
  return (await queueOf(db, threadId)).length
}

/** `newest`: the creation time of the last one, 0 if there is none. */
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
  // Kysely's type of `max` omits null, the value for no rows.
  return { length, newest: (newest as number | null) ?? 0 }
}

/** A message with the run and step that drained or made it. */
interface PlacedMessage {
  readonly message: Message
  readonly run: number | null
  readonly step: number | null
}

/** A message that is in the transcript or queued. Rejected and removed messages are never changed. */
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

/** A change of a message; its metadata is merged into the present one. */
interface MessageChange {
  readonly threadId: string
  readonly id: string
  readonly content?: string | undefined
  readonly silent?: boolean | undefined
  readonly metadata?: Readonly<Record<string, unknown>> | undefined
}

/** Returns false if the message is missing. */
export async function changeMessage(tx: Writer, change: MessageChange): Promise<boolean> {
  const { threadId, id, content, silent, metadata } = change
  const found = await findLiveMessage(tx, threadId, id)
  if (found === null) return false
  const merged = metadata === undefined ? undefined : { ...found.message.metadata, ...metadata }
  await tx
    .updateTable('messages')
    .set({
      // `set` must not be empty.
      content: content ?? found.message.content,
      ...(silent === undefined ? {} : { silent: silent ? 1 : 0 }),
      ...(merged === undefined ? {} : { metadata: JSON.stringify(merged) }),
    })
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .execute()
  return true
}

/** Deletes the row of a queued message, as if it had never been sent. */
export async function deleteWaiting(tx: Writer, threadId: string, id: string): Promise<void> {
  await tx
    .deleteFrom('messages')
    .where('thread_id', '=', threadId)
    .where('id', '=', id)
    .where('position', 'is', null)
    .execute()
}
