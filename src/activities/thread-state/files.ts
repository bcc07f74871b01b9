/**
 * The files of one thread as one call sees and changes them: paths and rows. Bytes are in file-members.ts.
 *
 * Owns: which paths the call has changed, the rules of folders, and the commit of the paths.
 * Does not own: the bytes, which go to the blob store at once, and the members (file-members.ts).
 *
 * Invariants:
 * F1: changes run sequentially in the order of the calls, so each one sees the changes before it.
 * F2: the commit removes before it creates, so a path may change between file and folder.
 * F3: an attachment whose path was taken before the commit gets another path; the commit returns both.
 */
import type { EventScope } from '../../protocol/events.js'
import { freeAttachmentPath } from '../../store/files/attachments.js'
import {
  statFile,
  fileFromRow,
  fileToRow,
  folderToRow,
  fileStats,
  findFiles,
  listFolder,
  makeFolder,
  matchesGlob,
  putFile,
  removeFile,
  removeFolder,
} from '../../store/files/files.js'
import { checkFilePath, FileError, folderOf, foldersAbove } from '../../store/files/file-checks.js'
import type { StoredFile, FileStats } from '../../store/files/files.js'
import type { Store, Writer } from '../../store/store.js'
import { createTurns } from './journal.js'
import type { CallGate } from './journal.js'
import { kindOf } from './strict-json.js'
import type { Micros } from '../../protocol/time.js'

/** A thread's files as one call sees them. Paths are checked. @throws FileError `invalid_path` */
export interface FilesOverlay extends FileChanges, Pick<FileEntries, 'stat' | 'find' | 'stats'> {
  /** @throws FileError `not_found`, `not_a_folder` */
  list(path: string): Promise<readonly StoredFile[]>
  /** Returns the new paths of moved attachments by their old ones (F3). */
  commit(tx: Writer): Promise<ReadonlyMap<string, string>>
}

interface FilesOverlayOptions {
  readonly store: Store
  readonly threadId: string
  readonly now: Micros
  readonly gate: CallGate
  /** What the events of the changes are about. */
  readonly about: EventScope
}

export function createFilesOverlay(options: FilesOverlayOptions): FilesOverlay {
  const { store, threadId, now, gate, about } = options
  const entries = createFileEntries({ store, threadId, gate })
  const changes = createFileChanges({ store, threadId, now, entries })
  const inTurn = createTurns()

  async function change<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
    checkPath(path)
    return inTurn(work)
  }

  return {
    find: (pattern) => entries.find(pattern),
    stats: () => entries.stats(),
    async stat(path) {
      // The top folder always exists and has no row.
      if (path === '/') return null
      checkPath(path)
      return entries.stat(path)
    },
    async list(path) {
      if (path !== '/') checkPath(path)
      const files = await entries.list(path)
      if (files !== null) return files
      throw (await entries.stat(path)) === null ? notFound(path) : notAFolder(path)
    },
    put: (path, content) => change(path, () => changes.put(path, content)),
    putAttachment: (name, content) => inTurn(() => changes.putAttachment(name, content)),
    remove: (path) => change(path, () => changes.remove(path)),
    makeFolder: (path) => change(path, () => changes.makeFolder(path)),
    removeFolder: (path) => change(path, () => changes.removeFolder(path)),
    commit: (tx) => commitFiles(tx, { threadId, now, about, changed: entries.changed }),
  }
}

/** A file whose bytes are in the blob store. */
export interface StoredContent {
  readonly blob: string
  readonly size: number
  readonly mimeType: string
  readonly width: number | null
  readonly height: number | null
  readonly metadata: Record<string, unknown> | null
}

/** The changes of one call, one at a time (F1). */
interface FileChanges {
  /** Also makes the folders above the path. @throws FileError `is_folder`, `not_a_folder` */
  put(path: string, content: () => Promise<StoredContent>): Promise<StoredFile>
  /** Writes under /attachments, at a free path. */
  putAttachment(name: string, content: () => Promise<StoredContent>): Promise<StoredFile>
  /** @throws FileError `not_found`, `is_folder` */
  remove(path: string): Promise<void>
  /** Also makes the folders above it. An existing folder stays unchanged. @throws FileError `not_a_folder` */
  makeFolder(path: string): Promise<StoredFile>
  /** @throws FileError `not_found`, `not_a_folder`, `not_empty` */
  removeFolder(path: string): Promise<void>
}

interface FileChangesOptions {
  readonly store: Store
  readonly threadId: string
  readonly now: Micros
  readonly entries: FileEntries
}

function createFileChanges({ store, threadId, now, entries }: FileChangesOptions): FileChanges {
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
      const taken = entries.listWritten().map((file) => file.path)
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

/** The content of a path after the commit. */
interface FileEntry {
  /** Null if the path is removed. */
  readonly file: StoredFile | null
  /** True if this file chose the path, not the code: if it is taken before the commit, the file gets another one (F3). */
  readonly movable: boolean
}

/** A thread's paths with the changes of one call. */
interface FileEntries {
  /** The changes of the call, by path. */
  readonly changed: ReadonlyMap<string, FileEntry>
  set(path: string, entry: FileEntry): void
  /** Files and folders that the call wrote. */
  listWritten(): readonly StoredFile[]
  stat(path: string): Promise<StoredFile | null>
  /** Lists a folder by name; null if it does not exist. */
  list(path: string): Promise<readonly StoredFile[] | null>
  /** Paths of files, in order; see `matchesGlob` for the pattern. */
  find(pattern: string): Promise<readonly string[]>
  stats(): Promise<FileStats>
}

interface FileEntriesOptions {
  readonly store: Store
  readonly threadId: string
  readonly gate: CallGate
}

function createFileEntries({ store, threadId, gate }: FileEntriesOptions): FileEntries {
  const changed = new Map<string, FileEntry>()

  function listWritten(): readonly StoredFile[] {
    return [...changed.values()].flatMap(({ file }) => (file === null ? [] : [file]))
  }

  async function stat(path: string): Promise<StoredFile | null> {
    const entry = changed.get(path)
    return entry === undefined ? store.read((db) => statFile(db, threadId, path)) : entry.file
  }

  return {
    changed,
    set(path, entry) {
      // The call may have ended while the change waited for the database; then it must not reach the commit.
      gate.assertOpen()
      changed.set(path, entry)
    },
    listWritten,
    stat,
    async list(path) {
      if (path !== '/' && !(await stat(path))?.isDirectory) return null
      const stored = (await store.read((db) => listFolder(db, threadId, path))) ?? []
      const kept = stored.filter((file) => !changed.has(file.path))
      const added = listWritten().filter((file) => folderOf(file.path) === path)
      return [...kept, ...added].toSorted((one, other) => (one.name < other.name ? -1 : 1))
    },
    async find(pattern) {
      const stored = await store.read((db) => findFiles(db, threadId, pattern))
      const kept = stored.filter((path) => !changed.has(path))
      const added = listWritten().filter((file) => !file.isDirectory && matchesGlob(file.path, pattern))
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

interface ChangedFiles {
  readonly threadId: string
  readonly now: Micros
  readonly about: EventScope
  readonly changed: ReadonlyMap<string, FileEntry>
}

/**
 * Commits the paths of a call (F2). A folder that has since got a file is not removed. Returns the new paths of attachments
 * whose path has since been taken (F3).
 */
async function commitFiles(tx: Writer, changes: ChangedFiles): Promise<ReadonlyMap<string, string>> {
  const { threadId, now, about: scope, changed } = changes
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
    await putFile(tx, { ...file, blob: file.blob, path: free, threadId, now, scope })
  }
  return moved
}

/** Removes the stored entry of a path if the call removed it or changed its kind. Attachments move instead. */
async function clear(
  tx: Writer,
  { threadId, now, about: scope, changed }: ChangedFiles,
  path: string,
): Promise<void> {
  const { file = null, movable = false } = changed.get(path) ?? {}
  if (movable) return
  const existing = await statFile(tx, threadId, path)
  if (existing === null || existing.isDirectory === file?.isDirectory) return
  if (!existing.isDirectory) {
    await removeFile(tx, threadId, path, { now, scope })
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

/** A path may come from a model, so it may not be a string. @throws FileError `invalid_path` */
function checkPath(path: unknown): void {
  if (typeof path === 'string') return checkFilePath(path)
  throw new FileError('invalid_path', `Expected a path as text, got ${kindOf(path)}`)
}

function notFound(path: string): FileError {
  return new FileError(
    'not_found',
    `Expected a file or folder of this thread, got ${path}, which is not there`,
  )
}

function isFolder(path: string, advice: string): FileError {
  return new FileError('is_folder', `Expected a file, got the folder ${path}: ${advice}`)
}

function notAFolder(path: string): FileError {
  return new FileError('not_a_folder', `Expected a folder, got the file ${path}: use another path`)
}

function notEmpty(path: string, inside: number): FileError {
  return new FileError(
    'not_empty',
    `Expected an empty folder, got ${inside} entries in ${path}: remove them first`,
  )
}
