import type { AttachmentRef } from '../../protocol/message.js'
import type { Reader } from '../store.js'
import { statFile } from './files.js'
import type { StoredFile } from './files.js'

const FOLDER = '/attachments'

/** Shorter than the 255 characters of a name, to leave room for a number. */
const STEM_LENGTH = 200

const EXTENSION_LENGTH = 20

/**
 * A path for an attachment of that name that no file of the thread has: `/attachments/report.pdf`, then
 * `/attachments/report-2.pdf`. It is free until the transaction ends: call it in the transaction that writes the file.
 * `reserved`: further paths that must not be used.
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
  // Exponential, then binary search: reading all of thousands of files with one name for each new one takes quadratic time.
  let [taken, free] = [1, 2]
  while (!(await isFree(free))) [taken, free] = [free, free * 2]
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2)
    if (await isFree(middle)) free = middle
    else taken = middle
  }
  return pathOf(free)
}

/** The valid part of a name: the last part of a path, without control characters. */
function splitName(name: string): { readonly stem: string; readonly extension: string } {
  const last = name.split(/[/\\]/).at(-1) ?? ''
  const plain = last.replace(/[\p{Control}\p{Surrogate}]/gu, '-').trim()
  // A name of dots alone would denote another folder.
  if (/^\.*$/.test(plain)) return { stem: 'file', extension: '' }
  const dot = plain.lastIndexOf('.')
  const extension = dot > 0 && plain.length - dot <= EXTENSION_LENGTH ? plain.slice(dot) : ''
  const stem = plain.slice(0, plain.length - extension.length).slice(0, STEM_LENGTH)
  // Truncating may split a character.
  return { stem: stem.replace(/\p{Surrogate}$/u, ''), extension }
}

/** The reference to a file of the thread in messages and tool results. */
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
