import type { ToolCallEntry } from '../protocol/message.js'
import type { Writer } from './store.js'

interface ErasedCall {
  readonly threadId: string
  readonly callId: string
  /** The assistant row that made it. */
  readonly messageId: string
}

/** What became of the row; null if it is not there any more, or holds no such call. */
export type ErasedFrom = 'message.updated' | 'message.deleted' | null

/**
 * Takes a call out of the row that made it, so that no request shows it again; a row that held nothing else goes with it.
 * The record of the call itself stays.
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
