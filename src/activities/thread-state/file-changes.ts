import { freeAttachmentPath } from '../../store/files/attachments.js'
import { fileFromRow, fileToRow, foldersAbove, folderToRow } from '../../store/files/file-row.js'
import type { StoredFile } from '../../store/files/file-row.js'
import type { Store } from '../../store/store.js'
import type { FileEntries } from './file-entries.js'
import { isFolder, notAFolder, notEmpty, notFound } from './file-problems.js'

/** A file whose bytes are in the blob store. */
export interface StoredContent {
  readonly blob: string
  readonly size: number
  readonly mimeType: string
  readonly width: number | null
  readonly height: number | null
  readonly metadata: Record<string, unknown> | null
}

/** What one call may do to its thread's paths, one change at a time: each looks at what the others left. */
export interface FileChanges {
  /** Makes the folders above it. @throws FileError `is_folder`, `not_a_folder` */
  put(path: string, content: () => Promise<StoredContent>): Promise<StoredFile>
  /** Under /attachments, at a path that is free. */
  putAttachment(name: string, content: () => Promise<StoredContent>): Promise<StoredFile>
  /** @throws FileError `not_found`, `is_folder` */
  remove(path: string): Promise<void>
  /** With those above it; one that is there stays as it is. @throws FileError `not_a_folder` */
  makeFolder(path: string): Promise<StoredFile>
  /** @throws FileError `not_found`, `not_a_folder`, `not_empty` */
  removeFolder(path: string): Promise<void>
}

export interface FileChangesOptions {
  readonly store: Store
  readonly threadId: string
  /** Microseconds. */
  readonly now: number
  readonly entries: FileEntries
}

export function createFileChanges({ store, threadId, now, entries }: FileChangesOptions): FileChanges {
  async function makeFolder(path: string): Promise<StoredFile> {
    const existing = await entries.stat(path)
    if (existing?.isDirectory) return existing
    if (existing !== null) throw notAFolder(path)
    await makeFoldersAbove(path)
    const folder = fileFromRow(folderToRow({ threadId, path, now }))
    entries.set(path, { file: folder, movable: false })
    return folder
  }

  async function makeFoldersAbove(path: string): Promise<void> {
    const above = foldersAbove(path).at(-1)
    if (above !== undefined) await makeFolder(above)
  }

  async function put(path: string, write: () => Promise<StoredContent>, chosen = false): Promise<StoredFile> {
    const existing = await entries.stat(path)
    if (existing?.isDirectory) throw isFolder(path, 'add a name')
    await makeFoldersAbove(path)
    const content = await write()
    const file = fileFromRow(fileToRow({ threadId, path, now, ...content }, existing?.createdAt ?? now))
    entries.set(path, { file, movable: chosen || entries.changed.get(path)?.movable === true })
    return file
  }

  return {
    put: (path, content) => put(path, content),
    async putAttachment(name, content) {
      const taken = entries.written().map((file) => file.path)
      const path = await store.read((db) => freeAttachmentPath(db, threadId, name, taken))
      return put(path, content, true)
    },
    async remove(path) {
      const existing = await entries.stat(path)
      if (existing === null) throw notFound(path)
      if (existing.isDirectory) throw isFolder(path, 'remove it with rmdirFile')
      entries.set(path, { file: null, movable: false })
    },
    makeFolder,
    async removeFolder(path) {
      const inside = await entries.list(path)
      if (inside === null) throw (await entries.stat(path)) === null ? notFound(path) : notAFolder(path)
      if (inside.length > 0) throw notEmpty(path, inside.length)
      entries.set(path, { file: null, movable: false })
    },
  }
}
