import type { QueuedMessage } from '../../definitions/thread-state.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { attachmentRef } from '../../store/files/attachments.js'
import type { BlobStore } from '../../store/files/blob-store.js'
import { prepareContent } from './file-content.js'
import type { FilesOverlay } from './files-overlay.js'
import { kindOf } from './strict-json.js'

/** A new file, or one that the thread has, by reference or path. */
export type GivenAttachment = NonNullable<QueuedMessage['attachments']>[number]

interface AttachmentTarget {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
}

/** New files are written under /attachments, others must be there. @throws a sentence on what is wrong with one */
export async function resolveAttachments(
  target: AttachmentTarget,
  given: readonly GivenAttachment[],
): Promise<readonly AttachmentRef[]> {
  const references: AttachmentRef[] = []
  for (const attachment of given) references.push(await resolve(target, attachment))
  return references
}

async function resolve({ files, blobs }: AttachmentTarget, given: GivenAttachment): Promise<AttachmentRef> {
  if (typeof given === 'string') return existing(files, given)
  if (typeof given !== 'object' || given === null)
    throw new Error(`Expected an attachment to be a file, a reference or a path, got ${kindOf(given)}.`)
  if ('path' in given) {
    const { description } = given
    return { ...(await existing(files, given.path)), ...(description === undefined ? {} : { description }) }
  }
  const { name, data, mimeType, width, height } = given
  if (typeof name !== 'string' || name === '')
    throw new Error(`Expected an attachment to have a name, got ${kindOf(name)}.`)
  const content = {
    named: `the attachment ${name}`,
    data,
    encoding: 'base64',
    mimeType,
    width,
    height,
  } as const
  return attachmentRef(await files.putAttachment(name, prepareContent(blobs, content)))
}

async function existing(files: FilesOverlay, path: string): Promise<AttachmentRef> {
  const file = await files.stat(path)
  if (file !== null && !file.isDirectory) return attachmentRef(file)
  const came = file === null ? 'no such file' : 'a folder'
  throw new Error(`Expected the attachment ${path} to be a file of this thread, got ${came}: write it first.`)
}
