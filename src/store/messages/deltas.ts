import { noteChange } from '../changes.js'
import type { Reader, Writer } from '../store.js'
import { pipeline } from '../transaction.js'

/** `text`, `reasoning` and `args` of a model's answer: `args` are the arguments of its calls; `output` and `progress` of a running tool call. */
export type DeltaKind = 'text' | 'reasoning' | 'args' | 'output' | 'progress'

/** The call of an answer whose arguments a piece continues. */
export interface DeltaCall {
  /** The id that it has once the answer is stored. */
  readonly id: string
  readonly name: string
  /** The number of characters of its arguments before the piece. */
  readonly offset: number
}

export interface NewDelta {
  readonly threadId: string
  /** Of `output` and `progress` the id of the tool call; no message that streams has such an id. */
  readonly messageId: string
  readonly attempt: number
  readonly kind: DeltaKind
  /** The number of characters of this kind before it, in this attempt: of `args` those of all calls; of `progress` the number of reports. */
  readonly offset: number
  /** Of `progress` the report as JSON. */
  readonly text: string
  /** Of `args` only. */
  readonly call?: DeltaCall
}

/**
 * `id` grows across the store, and `readDeltas` continues after it. Only a database that was killed and lost rows may reuse an
 * id: a reader that finds a gap reads from the first delta again.
 */
export interface StoredDelta extends NewDelta {
  readonly id: number
}

/** Returns the id of its row. */
export async function appendDelta(tx: Writer, delta: NewDelta): Promise<number> {
  noteChange(tx, delta.threadId)
  const { id } = await tx
    .insertInto('deltas')
    .values({
      thread_id: delta.threadId,
      message_id: delta.messageId,
      attempt: delta.attempt,
      kind: delta.kind,
      start_offset: delta.offset,
      text: delta.text,
      ...(delta.call !== undefined && columnsOf(delta.call)),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

function columnsOf({ id, name, offset }: DeltaCall) {
  return { call_id: id, call_name: name, call_offset: offset }
}

/** Deletes the report of progress that a newer one replaces. */
export async function deleteProgress(tx: Writer, message: StreamedMessage): Promise<void> {
  pipeline(tx, deltasOf(tx, message).where('kind', '=', 'progress').execute())
}

/** The message, or the running call, that deltas belong to. */
export type StreamedMessage = Pick<NewDelta, 'threadId' | 'messageId'>

/** The number of these rows that exist and belong to the message. */
export async function countDeltas(
  db: Reader,
  { threadId, messageId }: StreamedMessage,
  ids: readonly number[],
): Promise<number> {
  const { count } = await db
    .selectFrom('deltas')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('id', 'in', ids)
    .where('thread_id', '=', threadId)
    .where('message_id', '=', messageId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The deltas of streaming messages after that id, in order of arrival. */
export async function readDeltas(db: Reader, threadId: string, after = 0): Promise<readonly StoredDelta[]> {
  const rows = await db
    .selectFrom('deltas')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('id', '>', after)
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    threadId: row.thread_id,
    messageId: row.message_id,
    attempt: row.attempt,
    kind: row.kind as DeltaKind,
    offset: row.start_offset,
    text: row.text,
    ...(row.call_id !== null && {
      call: { id: row.call_id, name: row.call_name ?? '', offset: row.call_offset ?? 0 },
    }),
  }))
}

/** Whether text of a message has arrived that is not stored whole yet. */
export async function isStreaming(db: Reader, { threadId, messageId }: StreamedMessage): Promise<boolean> {
  const row = await db
    .selectFrom('deltas')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('message_id', '=', messageId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Call it in the transaction that commits the message. */
export async function deleteDeltas(tx: Writer, message: StreamedMessage): Promise<void> {
  pipeline(tx, deltasOf(tx, message).execute())
}

/** Deletes the deltas of earlier attempts. */
export async function dropAttempts(tx: Writer, message: StreamedMessage, below: number): Promise<void> {
  pipeline(tx, deltasOf(tx, message).where('attempt', '<', below).execute())
}

function deltasOf(tx: Writer, { threadId, messageId }: StreamedMessage) {
  return tx.deleteFrom('deltas').where('thread_id', '=', threadId).where('message_id', '=', messageId)
}
