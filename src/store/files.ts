import { FileError } from './file-error.js'
import { deleteEntry, statFile } from './file-entry.js'
import { checkFilePath } from './file-path.js'
import { fileFromRow, fileToRow } from './file-row.js'
import type { NewFile, StoredFile } from './file-row.js'
import { makeFoldersAbove } from './folders.js'
import { matchesGlob } from './glob.js'
import type { Reader, Writer } from './store.js'

/**
 * Writes or replaces a file's entry and makes the folders above it, which are rows too.
 * @throws FileError `invalid_path`, `is_folder`, `not_a_folder`
 */
export async function putFile(tx: Writer, file: NewFile): Promise<StoredFile> {
  checkFilePath(file.path)
  const existing = await statFile(tx, file.threadId, file.path)
  if (existing?.isDirectory) {
    throw new FileError('is_folder', `Expected a path for a file, got the folder ${file.path}: add a name`)
  }
  await makeFoldersAbove(tx, file)
  await tx
    .insertInto('blobs')
    .values({ digest: file.blob, size: file.size, created_at: file.now })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const row = fileToRow(file, existing?.createdAt ?? file.now)
  const { thread_id: _threadId, path: _path, ...changes } = row
  await tx
    .insertInto('files')
    .values(row)
    .onConflict((conflict) => conflict.columns(['thread_id', 'path']).doUpdateSet(changes))
    .execute()
  return fileFromRow(row)
}

/** False if there was none. @throws FileError `is_folder` */
export async function removeFile(tx: Writer, threadId: string, path: string): Promise<boolean> {
  const file = await statFile(tx, threadId, path)
  if (file === null) return false
  if (file.isDirectory) {
    throw new FileError(
      'is_folder',
      `Expected a file to remove, got the folder ${path}: remove it as a folder`,
    )
  }
  await deleteEntry(tx, threadId, path)
  return true
}

export interface FileCopy {
  readonly fromThreadId: string
  readonly fromPath: string
  readonly toThreadId: string
  readonly toPath: string
  readonly now: number
}

/** Copies an entry, never bytes; null if there is no such file. @throws FileError as `putFile` */
export async function copyFile(tx: Writer, copy: FileCopy): Promise<StoredFile | null> {
  const source = await statFile(tx, copy.fromThreadId, copy.fromPath)
  if (source === null || source.blob === null) return null
  const { mimeType, size, blob, metadata, width, height } = source
  const target = { threadId: copy.toThreadId, path: copy.toPath, now: copy.now }
  return putFile(tx, { ...target, mimeType, size, blob, metadata, width, height })
}

/** Paths of files, not folders, in order; see `matchesGlob` for the pattern. */
export async function findFiles(db: Reader, threadId: string, pattern: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('files')
    .select('path')
    .where('thread_id', '=', threadId)
    .where('is_directory', '=', 0)
    .orderBy('path')
    .execute()
  return rows.map((row) => row.path).filter((path) => matchesGlob(path, pattern))
}

export interface FileStats {
  readonly fileCount: number
  readonly directoryCount: number
  /** Bytes; the same content counts as often as it has a path. */
  readonly totalSize: number
}

export async function fileStats(db: Reader, threadId: string): Promise<FileStats> {
  const rows = await db
    .selectFrom('files')
    .select((select) => [
      'is_directory',
      select.fn.countAll<number>().as('count'),
      select.fn.sum<number>('size').as('size'),
    ])
    .where('thread_id', '=', threadId)
    .groupBy('is_directory')
    .execute()
  const files = rows.find((row) => row.is_directory === 0)
  const folders = rows.find((row) => row.is_directory !== 0)
  return {
    fileCount: files?.count ?? 0,
    directoryCount: folders?.count ?? 0,
    totalSize: files?.size ?? 0,
  }
}
