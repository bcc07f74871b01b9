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
  const rows = await db
    .selectFrom('files')
    .select('name')
    .where('thread_id', '=', threadId)
    .where('folder', '=', FOLDER)
    .where('name', '>=', stem)
    .where('name', '<', `${stem}\u{10ffff}`)
    .execute()
  const taken = new Set([...rows.map((row) => `${FOLDER}/${row.name}`), ...reserved])
  let free = `${FOLDER}/${stem}${extension}`
  for (let number = 2; taken.has(free); number++) free = `${FOLDER}/${stem}-${number}${extension}`
  return free
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
