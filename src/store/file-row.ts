import type { Selectable } from 'kysely'
import type { FileRecord } from '../protocol/message.js'
import { folderOf, nameOf } from './file-path.js'
import type { FilesTable } from './schema.js'

/** A file of a thread with the digest of its bytes; null for a folder. */
export interface StoredFile extends FileRecord {
  readonly blob: string | null
}

export interface NewFile {
  readonly threadId: string
  readonly path: string
  readonly mimeType: string
  readonly size: number
  /** Digest of bytes that are in the blob store already (T2). */
  readonly blob: string
  readonly metadata?: Record<string, unknown> | null
  readonly width?: number | null
  readonly height?: number | null
  readonly now: number
}

export interface NewFolder {
  readonly threadId: string
  readonly path: string
  readonly now: number
}

export function fileToRow(file: NewFile, createdAt: number): Selectable<FilesTable> {
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

export function folderToRow({ threadId, path, now }: NewFolder): Selectable<FilesTable> {
  const folder = { threadId, path, now, mimeType: 'inode/directory', size: 0, blob: '' }
  return { ...fileToRow(folder, now), blob: null, is_directory: 1 }
}

export function fileFromRow(row: Selectable<FilesTable>): StoredFile {
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
