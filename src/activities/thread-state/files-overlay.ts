import type { StoredFile } from '../../store/files/file-row.js'
import type { Store, Writer } from '../../store/store.js'
import type { CallGate } from './call-gate.js'
import { commitFiles } from './commit-files.js'
import { createFileChanges } from './file-changes.js'
import type { FileChanges } from './file-changes.js'
import { createFileEntries } from './file-entries.js'
import type { FileEntries } from './file-entries.js'
import { checkPath, notAFolder, notFound } from './file-problems.js'
import { createTurns } from './turns.js'

/**
 * A thread's files as one call sees them. Paths that it is given are checked (FileError `invalid_path`), changes are
 * made one after the other, in the order of the calls.
 */
export interface FilesOverlay extends FileChanges, Pick<FileEntries, 'stat' | 'find' | 'stats'> {
  /** @throws FileError `not_found`, `not_a_folder` */
  list(path: string): Promise<readonly StoredFile[]>
  /** Answers the new paths of the attachments that had to move. */
  commit(tx: Writer): Promise<ReadonlyMap<string, string>>
}

export interface FilesOverlayOptions {
  readonly store: Store
  readonly threadId: string
  /** Microseconds. */
  readonly now: number
  readonly gate: CallGate
}

export function createFilesOverlay({ store, threadId, now, gate }: FilesOverlayOptions): FilesOverlay {
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
      // The top folder is always there and has no record.
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
    commit: (tx) => commitFiles(tx, { threadId, now, changed: entries.changed }),
  }
}
