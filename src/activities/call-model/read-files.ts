import type { AttachmentRef } from '../../protocol/message.js'
import type { InlinedFile, ReadFiles } from '../../model/context/inlined-files.js'
import { mediaTypeOf } from '../../model/context/media.js'
import { LIMITS } from '../../protocol/limits.js'
import { statFile } from '../../store/file-entry.js'
import { StoreError } from '../../store/store-error.js'
import type { Store } from '../../store/store.js'

/** The bytes of files of a thread, each path read once; null where there are none, or not of the kind they should be. */
export async function readFiles(
  store: Store,
  threadId: string,
  attachments: Iterable<AttachmentRef>,
): Promise<ReadFiles> {
  const read = new Map<string, InlinedFile | null>()
  const files = new Map<AttachmentRef, InlinedFile | null>()
  for (const attachment of attachments) {
    const { path } = attachment
    const known = read.get(path)
    const file = known === undefined ? await readFile(store, threadId, path) : known
    read.set(path, file)
    files.set(attachment, file !== null && isOfKind(file, attachment) ? file : null)
  }
  return files
}

async function readFile(store: Store, threadId: string, path: string): Promise<InlinedFile | null> {
  const entry = await store.read((db) => statFile(db, threadId, path))
  if (entry?.blob == null || entry.size > LIMITS.inlinedFileBytes) return null
  const data = await bytesOf(store, entry.blob)
  const mediaType = data === null ? null : mediaTypeOf(data)
  return data === null || mediaType === null ? null : { mediaType, data }
}

/** A broken file is told to the model; a store that fails in passing is asked again by the next attempt. */
async function bytesOf({ blobs }: Store, digest: string): Promise<Uint8Array | null> {
  try {
    return await blobs.read(digest)
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === 'corrupt') return null
    throw error
  }
}

/** A PNG that is called a JPEG will do; a PDF that is called an image is nothing that the model was asked to take. */
function isOfKind({ mediaType }: InlinedFile, { mimeType }: AttachmentRef): boolean {
  return mediaType.split('/')[0] === mimeType.toLowerCase().split('/')[0]
}
