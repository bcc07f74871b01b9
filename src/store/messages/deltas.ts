import { noteChange } from '../changes.js'
import type { Reader, Writer } from '../store.js'
import { meanwhile } from '../transaction.js'

export type DeltaKind = 'text' | 'reasoning'

export interface NewDelta {
  readonly threadId: string
  readonly messageId: string
  readonly attempt: number
  readonly kind: DeltaKind
  /** Characters of this kind before it, in this attempt. */
  readonly offset: number
  readonly text: string
}

/**
 * `id` grows store-wide: `readDeltas` goes on after it. Only a database that was killed, and has forgotten rows, may use it
 * twice: a reader that meets a gap reads from the first one on.
 */
export interface StoredDelta extends NewDelta {
  readonly id: number
}

/** Answers the id of its row. */
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
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** The message of a thread that deltas are of. */
export type StreamedMessage = Pick<NewDelta, 'threadId' | 'messageId'>

/** How many of those rows are there, and of that message. */
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

/** What streams now, in the order of arrival, after the delta with that id. */
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
  }))
}

/** Belongs into the transaction that commits the message. */
export async function deleteDeltas(tx: Writer, message: StreamedMessage): Promise<void> {
  meanwhile(tx, deltasOf(tx, message).execute())
}

/** Removes what earlier attempts streamed. */
export async function dropAttempts(tx: Writer, message: StreamedMessage, below: number): Promise<void> {
  meanwhile(tx, deltasOf(tx, message).where('attempt', '<', below).execute())
}

function deltasOf(tx: Writer, { threadId, messageId }: StreamedMessage) {
  return tx.deleteFrom('deltas').where('thread_id', '=', threadId).where('message_id', '=', messageId)
}
