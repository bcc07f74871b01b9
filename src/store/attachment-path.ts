import { statFile } from './file-entry.js'
import type { Reader } from './store.js'

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
