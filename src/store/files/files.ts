import type { Selectable } from 'kysely'

import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { FileChange } from '../../protocol/payloads/lifecycle.js'
import { appendEvents } from '../events.js'
import type { Reader, Writer } from '../store.js'
import { FileError, checkFilePath, folderOf, foldersAbove, nameOf } from './file-checks.js'
import { nowMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { Schema } from '../schema.js'
import type { FileRecord } from '../../protocol/message.js'

/**
 * Writes or replaces the row of a file, with its event, and makes the rows of the folders above it.
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
  const change = existing === null ? 'created' : 'updated'
  await appendChange(tx, file, { path: file.path, change, size: file.size, version: versionOf(file.blob) })
  return fileFromRow(row)
}

interface ChangedFile {
  readonly threadId: string
  readonly now: Micros
  /** What the change is a part of. @default nothing */
  readonly scope?: EventScope
}

async function appendChange(
  tx: Writer,
  { threadId, now, scope }: ChangedFile,
  change: FileChange,
): Promise<void> {
  const events = [fact('file.changed', change, scope)]
  await appendEvents(tx, { threadId, events, now, movesActivity: false })
}

/** Characters of a digest that tell versions apart; with all of them whoever reads the event could name the bytes. */
const VERSION_LENGTH = 16

function versionOf(blob: string): string {
  return blob.slice(0, VERSION_LENGTH)
}

/** Returns false if there is no such file; else its event is stored, too. @throws FileError `is_folder` */
export async function removeFile(
  tx: Writer,
  threadId: string,
  path: string,
  about: Pick<ChangedFile, 'now' | 'scope'> = { now: nowMicros() },
): Promise<boolean> {
  const file = await statFile(tx, threadId, path)
  if (file === null) return false
  if (file.isDirectory) {
    throw new FileError(
      'is_folder',
      `Expected a file to remove, got the folder ${path}: remove it as a folder`,
    )
  }
  await deleteEntry(tx, threadId, path)
  await appendChange(tx, { ...about, threadId }, { path, change: 'deleted', size: 0, version: null })
  return true
}

interface FileCopy {
  readonly fromThreadId: string
  readonly fromPath: string
  readonly toThreadId: string
  readonly toPath: string
  readonly now: Micros
}

/** Copies the row, not the bytes; null if there is no such file. @throws FileError as `putFile` */
export async function copyFile(tx: Writer, copy: FileCopy): Promise<StoredFile | null> {
  const source = await statFile(tx, copy.fromThreadId, copy.fromPath)
  if (source === null || source.blob === null) return null
  const { mimeType, size, blob, metadata, width, height } = source
  const target = { threadId: copy.toThreadId, path: copy.toPath, now: copy.now }
  return putFile(tx, { ...target, mimeType, size, blob, metadata, width, height })
}

/** The paths of matching files, without folders, in order; see `matchesGlob` for the pattern. */
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

/** The files that were changed last, without folders, the newest first. */
export async function listChangedFiles(
  db: Reader,
  threadId: string,
  limit: number,
): Promise<readonly StoredFile[]> {
  const rows = await db
    .selectFrom('files')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('is_directory', '=', 0)
    .orderBy('updated_at', 'desc')
    .orderBy('path')
    .limit(limit)
    .execute()
  return rows.map(fileFromRow)
}

export interface FileStats {
  readonly fileCount: number
  readonly directoryCount: number
  /** Bytes; equal content counts once for each path. */
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

/** Makes the folder and its parents, unless they exist. @throws FileError `invalid_path`, `not_a_folder` */
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

/** Returns false if there is no such folder. @throws FileError `not_a_folder`, `not_empty` */
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

/** The entries of a folder by name; null if there is no such folder. '/' always exists. */
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
async function makeFoldersAbove(tx: Writer, { threadId, path, now }: NewFolder): Promise<void> {
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

/**
 * Whether a path matches a pattern: `*` and `?` match within a name, `**` as a name matches any folders. A pattern without "/"
 * matches the name in any folder. The time is bounded by the product of both lengths for every pattern.
 */
export function matchesGlob(path: string, pattern: string): boolean {
  const names = namesOf(path)
  if (!pattern.includes('/')) return matchesName(names.at(-1) ?? '', pattern)
  return matchesSequence(names, namesOf(pattern), {
    isWild: (part) => part === '**',
    fits: matchesName,
  })
}

function namesOf(path: string): readonly string[] {
  return path.replace(/^\//, '').split('/')
}

function matchesName(name: string, pattern: string): boolean {
  return matchesSequence(Array.from(name), Array.from(pattern), {
    isWild: (part) => part === '*',
    fits: (character, part) => part === '?' || part === character,
  })
}

interface Parts {
  /** Whether the part matches any number of items. */
  isWild(part: string): boolean
  fits(item: string, part: string): boolean
}

/** After a mismatch only the last wildcard is extended: extending an earlier one cannot help. */
function matchesSequence(items: readonly string[], pattern: readonly string[], parts: Parts): boolean {
  let item = 0
  let part = 0
  let wildPart = -1
  let wildItem = 0
  while (item < items.length) {
    const wanted = pattern[part]
    if (wanted !== undefined && parts.isWild(wanted)) {
      wildPart = part++
      wildItem = item
    } else if (wanted !== undefined && parts.fits(items[item] ?? '', wanted)) {
      item++
      part++
    } else if (wildPart >= 0) {
      part = wildPart + 1
      item = ++wildItem
    } else {
      return false
    }
  }
  return pattern.slice(part).every((rest) => parts.isWild(rest))
}

/** Deletes the row of a file or an empty folder, without any check. */
async function deleteEntry(tx: Writer, threadId: string, path: string): Promise<void> {
  await tx.deleteFrom('files').where('thread_id', '=', threadId).where('path', '=', path).execute()
}

interface NewFile {
  readonly threadId: string
  readonly path: string
  readonly mimeType: string
  readonly size: number
  /** Digest of bytes that the blob store already has (T2). */
  readonly blob: string
  readonly metadata?: Record<string, unknown> | null
  readonly width?: number | null
  readonly height?: number | null
  readonly now: Micros
  /** What the change is a part of. @default nothing */
  readonly scope?: EventScope
}

interface NewFolder {
  readonly threadId: string
  readonly path: string
  readonly now: Micros
}

export function fileToRow(file: NewFile, createdAt: Micros): Selectable<Schema['files']> {
  return {
    thread_id: file.threadId,
    path: file.path,
    folder: folderOf(file.path),
    name: nameOf(file.path),
    mime_type: file.mimeType,
    size: file.size,
    blob: file.blob,
    is_directory: 0,
    metadata: file.metadata ? JSON.stringify(file.metadata) : null,
    width: file.width ?? null,
    height: file.height ?? null,
    created_at: createdAt,
    updated_at: file.now,
  }
}

export function folderToRow({ threadId, path, now }: NewFolder): Selectable<Schema['files']> {
  const folder = { threadId, path, now, mimeType: 'inode/directory', size: 0, blob: '' }
  return { ...fileToRow(folder, now), blob: null, is_directory: 1 }
}

/** A file of a thread with the digest of its bytes, which is null for a folder. */
export interface StoredFile extends FileRecord {
  readonly blob: string | null
}

export function fileFromRow(row: Selectable<Schema['files']>): StoredFile {
  return {
    path: row.path,
    name: row.name,
    mimeType: row.mime_type,
    storage: 'local',
    size: row.size,
    isDirectory: row.is_directory !== 0,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, unknown>),
    width: row.width,
    height: row.height,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    blob: row.blob,
  }
}

/** The file or folder; null if there is none. The root folder '/' has no row. */
export async function statFile(db: Reader, threadId: string, path: string): Promise<StoredFile | null> {
  const row = await db
    .selectFrom('files')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('path', '=', path)
    .executeTakeFirst()
  return row === undefined ? null : fileFromRow(row)
}
