import { statFile } from '../../store/files/attachments.js'
import { folderOf } from '../../store/files/file-row.js'
import type { StoredFile } from '../../store/files/file-row.js'
import { fileStats, findFiles, listFolder, matchesGlob } from '../../store/files/files.js'
import type { FileStats } from '../../store/files/files.js'
import type { Store } from '../../store/store.js'
import type { CallGate } from './call-gate.js'

/** What a path will be with the commit. */
export interface FileEntry {
  /** Null: removed. */
  readonly file: StoredFile | null
  /** Its path was chosen here, so it goes to another one if somebody else takes that before the commit. */
  readonly movable: boolean
}

/** A thread's paths with those that one call has changed. */
export interface FileEntries {
  /** What the call has changed, by path. */
  readonly changed: ReadonlyMap<string, FileEntry>
  set(path: string, entry: FileEntry): void
  /** Files and folders that the call wrote. */
  written(): readonly StoredFile[]
  stat(path: string): Promise<StoredFile | null>
  /** What is directly in a folder, by name; null if there is no such folder. */
  list(path: string): Promise<readonly StoredFile[] | null>
  /** Paths of files, in order; see `matchesGlob` for the pattern. */
  find(pattern: string): Promise<readonly string[]>
  stats(): Promise<FileStats>
}

export interface FileEntriesOptions {
  readonly store: Store
  readonly threadId: string
  readonly gate: CallGate
}

export function createFileEntries({ store, threadId, gate }: FileEntriesOptions): FileEntries {
  const changed = new Map<string, FileEntry>()

  function written(): readonly StoredFile[] {
    return [...changed.values()].flatMap(({ file }) => (file === null ? [] : [file]))
  }

  async function stat(path: string): Promise<StoredFile | null> {
    const entry = changed.get(path)
    return entry === undefined ? store.read((db) => statFile(db, threadId, path)) : entry.file
  }

  return {
    changed,
    set(path, entry) {
      // A change that waited for the database while the call ended must not reach the commit.
      gate.assertOpen()
      changed.set(path, entry)
    },
    written,
    stat,
    async list(path) {
      if (path !== '/' && !(await stat(path))?.isDirectory) return null
      const stored = (await store.read((db) => listFolder(db, threadId, path))) ?? []
      const kept = stored.filter((file) => !changed.has(file.path))
      const added = written().filter((file) => folderOf(file.path) === path)
      return [...kept, ...added].toSorted((one, other) => (one.name < other.name ? -1 : 1))
    },
    async find(pattern) {
      const stored = await store.read((db) => findFiles(db, threadId, pattern))
      const kept = stored.filter((path) => !changed.has(path))
      const added = written().filter((file) => !file.isDirectory && matchesGlob(file.path, pattern))
      return [...kept, ...added.map((file) => file.path)].toSorted()
    },
    async stats() {
      let sum = await store.read((db) => fileStats(db, threadId))
      for (const [path, { file }] of changed) {
        const replaced = await store.read((db) => statFile(db, threadId, path))
        sum = plus(plus(sum, file, 1), replaced, -1)
      }
      return sum
    },
  }
}

function plus(sum: FileStats, file: StoredFile | null, count: 1 | -1): FileStats {
  if (file === null) return sum
  if (file.isDirectory) return { ...sum, directoryCount: sum.directoryCount + count }
  return { ...sum, fileCount: sum.fileCount + count, totalSize: sum.totalSize + count * file.size }
}
