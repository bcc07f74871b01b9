import type { Message } from '../protocol/message.js'
import { messageFromRow } from './message-row.js'
import type { Reader, Writer } from './store.js'

/** A message with the run and step that took or made it. */
export interface PlacedMessage {
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
export interface MessageChange {
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
