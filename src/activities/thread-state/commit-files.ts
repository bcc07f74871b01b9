import { freeAttachmentPath, statFile } from '../../store/files/attachments.js'
import { FileError } from '../../store/files/file-row.js'
import type { StoredFile } from '../../store/files/file-row.js'
import { makeFolder, putFile, removeFile, removeFolder } from '../../store/files/files.js'
import type { Writer } from '../../store/store.js'
import type { FileEntry } from './file-entries.js'

interface ChangedFiles {
  readonly threadId: string
  readonly now: number
  readonly changed: ReadonlyMap<string, FileEntry>
}

/**
 * Writes the paths of a call: what it removed, then what it made. A folder that somebody has since put a file into is
 * not removed. Answers the new paths of the attachments whose path somebody else has since taken.
 */
export async function commitFiles(tx: Writer, changes: ChangedFiles): Promise<ReadonlyMap<string, string>> {
  const { threadId, now, changed } = changes
  const moved = new Map<string, string>()
  const paths = [...changed.keys()].toSorted((one, other) => depthOf(one) - depthOf(other))
  for (const path of paths.toReversed()) await clear(tx, changes, path)
  for (const path of paths) {
    const { file = null, movable = false } = changed.get(path) ?? {}
    if (file === null) continue
    if (file.blob === null) {
      await makeFolder(tx, { threadId, path, now })
      continue
    }
    const free = movable ? await pathOfAttachment(tx, changes, file) : path
    if (free !== path) moved.set(path, free)
    await putFile(tx, { ...file, blob: file.blob, path: free, threadId, now })
  }
  return moved
}

/** Removes what is at a path if it is to be gone or of another kind; an attachment goes elsewhere instead. */
async function clear(tx: Writer, { threadId, changed }: ChangedFiles, path: string): Promise<void> {
  const { file = null, movable = false } = changed.get(path) ?? {}
  if (movable) return
  const existing = await statFile(tx, threadId, path)
  if (existing === null || existing.isDirectory === file?.isDirectory) return
  if (!existing.isDirectory) {
    await removeFile(tx, threadId, path)
    return
  }
  try {
    await removeFolder(tx, threadId, path)
  } catch (error) {
    if (file !== null || !FileError.isInstance(error) || error.code !== 'not_empty') throw error
  }
}

async function pathOfAttachment(
  tx: Writer,
  { threadId, changed }: ChangedFiles,
  file: StoredFile,
): Promise<string> {
  if ((await statFile(tx, threadId, file.path)) === null) return file.path
  return freeAttachmentPath(tx, threadId, file.name, [...changed.keys()])
}

function depthOf(path: string): number {
  return path.split('/').length
}
