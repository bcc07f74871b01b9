import type { AttachmentRef } from '../../protocol/message.js'
import type { Reader, Writer } from '../store.js'
import { fileFromRow } from './file-row.js'
import type { StoredFile } from './file-row.js'

const FOLDER = '/attachments'
/** Leaves room for a number within the 255 characters of a name. */
const STEM_LENGTH = 200
const EXTENSION_LENGTH = 20

/**
 * A path for an attachment of that name that no file of the thread has: `/attachments/report.pdf`, then
 * `/attachments/report-2.pdf`. Free until the transaction ends, so it belongs into the one that writes the file.
 * `reserved`: further paths that are not to be taken.
 */
export async function freeAttachmentPath(
  db: Reader,
  threadId: string,
  name: string,
  reserved: Iterable<string> = [],
): Promise<string> {
  const { stem, extension } = splitName(name)
  const pathOf = (number: number) => `${FOLDER}/${stem}${number === 1 ? '' : `-${number}`}${extension}`
  const others = new Set(reserved)
  const isFree = async (number: number): Promise<boolean> =>
    !others.has(pathOf(number)) && (await statFile(db, threadId, pathOf(number))) === null
  if (await isFree(1)) return pathOf(1)
  // Doubled, then halved: a thread may have thousands of one name, and reading all of them for each costs their square.
  let [taken, free] = [1, 2]
  while (!(await isFree(free))) [taken, free] = [free, free * 2]
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2)
    if (await isFree(middle)) free = middle
    else taken = middle
  }
  return pathOf(free)
}

/** The name as a path may hold it: the last part of a path, without control characters. */
function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(/[\p{Control}\p{Surrogate}]/gu, '-').trim()
  // A name of dots alone would mean another folder.
  if (/^\.*$/.test(plain)) return { stem: 'file', extension: '' }
  const dot = plain.lastIndexOf('.')
  const extension = dot > 0 && plain.length - dot <= EXTENSION_LENGTH ? plain.slice(dot) : ''
  const stem = plain.slice(0, plain.length - extension.length).slice(0, STEM_LENGTH)
  // The cut may leave half a character.
  return { stem: stem.replace(/\p{Surrogate}$/u, ''), extension }
}

/** How messages and tool results name a file of their thread. */
export function attachmentRef(file: StoredFile): AttachmentRef {
  return {
    id: file.path,
    type: 'file',
    path: file.path,
    name: file.name,
    mimeType: file.mimeType,
    size: file.size,
    ...(file.width === null ? {} : { width: file.width }),
    ...(file.height === null ? {} : { height: file.height }),
  }
}

/** Null if there is neither file nor folder. The top folder '/' has no record. */
export async function statFile(db: Reader, threadId: string, path: string): Promise<StoredFile | null> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('path', '=', path)
    .executeTakeFirst()
  return row === undefined ? null : fileFromRow(row)
}

/** Of a file or an empty folder: nothing else is looked at. */
export async function deleteEntry(tx: Writer, threadId: string, path: string): Promise<void> {
  await tx.deleteFrom('files').where('thread_id', '=', threadId).where('path', '=', path).execute()
}
