import type { AttachmentRef } from '../protocol/message.js'
import type { Micros } from '../protocol/time.js'
import { attachmentRef, freeAttachmentPath } from '../store/files/attachments.js'
import { statFile, copyFile } from '../store/files/files.js'
import type { Reader, Writer } from '../store/store.js'

/**
 * A sentence for the model about the first of these paths that is not a file of the thread; null if all are files.
 */
export async function missingFileProblem(
  db: Reader,
  threadId: string,
  paths: readonly string[],
): Promise<string | null> {
  for (const path of paths) {
    const file = await statFile(db, threadId, path)
    if (file === null) return `There is no file "${path}" in this thread.`
    if (file.isDirectory) return `"${path}" is a folder. Name the files in it.`
  }
  return null
}

/** The files of the thread as a message names them; a sentence for the model if one of them does not exist. */
export async function filesAt(
  db: Reader,
  threadId: string,
  paths: readonly string[],
): Promise<readonly AttachmentRef[] | string> {
  const missing = await missingFileProblem(db, threadId, paths)
  if (missing !== null) return missing
  const refs: AttachmentRef[] = []
  for (const path of paths) {
    const file = await statFile(db, threadId, path)
    if (file !== null) refs.push(attachmentRef(file))
  }
  return refs
}

interface FileCopies {
  readonly from: string
  readonly to: string
  readonly paths: readonly string[]
  readonly now: Micros
}

/**
 * Copies files into another thread. Each gets a path that is valid and free there, and costs one row whatever its
 * size. A file that has been deleted since is left out.
 */
export async function copyAttachments(
  tx: Writer,
  { from, to, paths, now }: FileCopies,
): Promise<readonly AttachmentRef[]> {
  const refs: AttachmentRef[] = []
  for (const fromPath of paths) {
    const source = await statFile(tx, from, fromPath)
    if (source === null || source.isDirectory) continue
    const toPath = await freeAttachmentPath(tx, to, source.name)
    const copy = await copyFile(tx, { fromThreadId: from, fromPath, toThreadId: to, toPath, now })
    if (copy !== null) refs.push(attachmentRef(copy))
  }
  return refs
}

/** The file extensions that differ from the subtype. */
const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'jpg'],
  ['image/svg+xml', 'svg'],
  ['audio/mpeg', 'mp3'],
  ['audio/x-wav', 'wav'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['application/octet-stream', 'bin'],
])

/** `image.png` for `image/png`. */
export function fileName(mimeType: string): string {
  const [kind = '', subtype = ''] = mimeType.split('/')
  const extension = EXTENSIONS.get(mimeType) ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin')
  return `${kind === 'application' ? 'file' : kind}.${extension}`
}
