import { removeFile } from '../store/files/files.js'
import { deleteWaiting } from '../store/messages/message-writes.js'
import { findMessage } from '../store/messages/transcript.js'
import type { Writer } from '../store/store.js'
import type { CheckedMessage } from './new-message.js'

/** Takes back a staged message that no workflow will ever hear of, and the files that came with it. */
export async function withdrawMessage(tx: Writer, threadId: string, given: CheckedMessage): Promise<void> {
  const message = await findMessage(tx, threadId, given.id)
  if (message === null || message.position !== null || message.status !== 'pending') return
  await deleteWaiting(tx, threadId, given.id)
  for (const [index, { path }] of message.attachments.entries())
    if (given.attachments[index]?.kind === 'new') await removeFile(tx, threadId, path)
}
