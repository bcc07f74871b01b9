import { deleteWaiting } from '../store/change-messages.js'
import { removeFile } from '../store/files.js'
import { findMessage } from '../store/read-messages.js'
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
