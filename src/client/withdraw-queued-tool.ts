import { deleteWaiting } from '../store/messages/message-writes.js'
import type { Writer } from '../store/store.js'

/** Takes back a staged call that no workflow will ever hear of, and the row that holds it. */
export async function withdrawQueuedTool(tx: Writer, threadId: string, toolCallId: string): Promise<void> {
  const call = await tx
    .deleteFrom('tool_calls')
    .where('thread_id', '=', threadId)
    .where('id', '=', toolCallId)
    .where('status', '=', 'open')
    .where('run', '=', 0)
    .returning('message_id')
    .executeTakeFirst()
  if (call === undefined) return
  await deleteWaiting(tx, threadId, call.message_id)
}
