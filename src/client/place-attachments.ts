import { createHash } from 'node:crypto'
import { MessageRejectedError } from '../protocol/errors.js'
import type { AttachmentRef } from '../protocol/message.js'
import { attachmentRef, freeAttachmentPath, statFile } from '../store/files/attachments.js'
import type { StoredFile } from '../store/files/file-row.js'
import { putFile } from '../store/files/files.js'
import type { Store, Writer } from '../store/store.js'
import { microseconds } from './clock.js'
import type { GivenAttachment } from './new-message.js'

/** An attachment whose bytes are in the blob store, or that is a file of the thread. */
export type StoredAttachment =
  | Extract<GivenAttachment, { kind: 'file' }>
  | (Omit<Extract<GivenAttachment, { kind: 'new' }>, 'bytes'> & {
      readonly blob: string
      readonly size: number
    })

/** Bytes first, so that no entry ever names bytes that are not there. The same bytes are kept once. */
export async function storeBytes(
  store: Store,
  attachments: readonly GivenAttachment[],
): Promise<readonly StoredAttachment[]> {
  const stored: StoredAttachment[] = []
  for (const attachment of attachments) {
    if (attachment.kind === 'file') {
      stored.push(attachment)
      continue
    }
    const { bytes, ...entry } = attachment
    const { digest, size } = await store.blobs.write(bytes)
    stored.push({ ...entry, blob: digest, size })
  }
  return stored
}

/** What an attachment adds to the digest of its message: the same whether its bytes are stored yet or not. */
export function attachmentDigest(attachment: GivenAttachment): Readonly<Record<string, string>> {
  if (attachment.kind === 'file') return { path: attachment.path }
  const bytes = createHash('sha256').update(attachment.bytes).digest('hex')
  return { name: attachment.name, mimeType: attachment.mimeType, bytes }
}

/**
 * Makes the entries of new files and finds those that are named; belongs into the transaction that stages the message.
 * @throws MessageRejectedError for a path that the thread does not have
 */
export async function placeAttachments(
  tx: Writer,
  threadId: string,
  attachments: readonly StoredAttachment[],
): Promise<readonly AttachmentRef[]> {
  const placed: AttachmentRef[] = []
  for (const attachment of attachments) {
    const file =
      attachment.kind === 'file'
        ? await existingFile(tx, threadId, attachment.path)
        : await putFile(tx, {
            ...attachment,
            threadId,
            path: await freeAttachmentPath(tx, threadId, attachment.name),
            now: microseconds(),
          })
    const description = attachment.kind === 'file' ? attachment.description : null
    placed.push({ ...attachmentRef(file), ...(description !== null && { description }) })
  }
  return placed
}

async function existingFile(tx: Writer, threadId: string, path: string): Promise<StoredFile> {
  const file = await statFile(tx, threadId, path)
  if (file !== null && !file.isDirectory) return file
  const came = file === null ? 'no such file' : 'a folder'
  throw new MessageRejectedError(
    threadId,
    `Expected the attachment ${path} to be a file of the thread, got ${came}: ` +
      'a new file is given as { name, mimeType, data }.',
  )
}
