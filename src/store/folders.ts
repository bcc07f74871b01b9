import { FileError } from './file-error.js'
import { deleteEntry, statFile } from './file-entry.js'
import { checkFilePath, foldersAbove } from './file-path.js'
import { fileFromRow, folderToRow } from './file-row.js'
import type { NewFolder, StoredFile } from './file-row.js'
import type { Reader, Writer } from './store.js'

/** Makes the folder and those above it; one that is there stays as it is. @throws FileError `invalid_path`, `not_a_folder` */
export async function makeFolder(tx: Writer, folder: NewFolder): Promise<StoredFile> {
  checkFilePath(folder.path)
  const existing = await statFile(tx, folder.threadId, folder.path)
  if (existing !== null && !existing.isDirectory) throw notAFolder(folder.path)
  if (existing !== null) return existing
  await makeFoldersAbove(tx, folder)
  const row = folderToRow(folder)
  await tx.insertInto('files').values(row).execute()
  return fileFromRow(row)
}

/** False if there was none. @throws FileError `not_a_folder`, `not_empty` */
export async function removeFolder(tx: Writer, threadId: string, path: string): Promise<boolean> {
  const folder = await statFile(tx, threadId, path)
  if (folder === null) return false
  if (!folder.isDirectory) throw notAFolder(path)
  const entries = await listFolder(tx, threadId, path)
  if (entries !== null && entries.length > 0) {
    throw new FileError('not_empty', `Expected an empty folder, got ${entries.length} entries in ${path}`)
  }
  await deleteEntry(tx, threadId, path)
  return true
}

/** What is directly in a folder, by name; null if there is no such folder. '/' is always there. */
export async function listFolder(
  db: Reader,
  threadId: string,
  path: string,
): Promise<readonly StoredFile[] | null> {
  if (path !== '/' && !(await statFile(db, threadId, path))?.isDirectory) return null
  const rows = await db
    .selectFrom('files')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('folder', '=', path)
    .orderBy('name')
    .execute()
  return rows.map(fileFromRow)
}

/** @throws FileError `not_a_folder` */
export async function makeFoldersAbove(tx: Writer, { threadId, path, now }: NewFolder): Promise<void> {
  const paths = foldersAbove(path)
  if (paths.length === 0) return
  const existing = await tx
    .selectFrom('files')
    .select(['path', 'is_directory'])
    .where('thread_id', '=', threadId)
    .where('path', 'in', [...paths])
    .execute()
  const file = existing.find((row) => row.is_directory === 0)
  if (file !== undefined) throw notAFolder(file.path)
  const known = new Set(existing.map((row) => row.path))
  const missing = paths.filter((folder) => !known.has(folder))
  if (missing.length === 0) return
  await tx
    .insertInto('files')
    .values(missing.map((folder) => folderToRow({ threadId, path: folder, now })))
    .execute()
}

function notAFolder(path: string): FileError {
  return new FileError('not_a_folder', `Expected a folder, got the file ${path}: use another path`)
}
