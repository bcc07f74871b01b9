import type { FileRecord } from '../../protocol/message.js'
import { statFile, listFolder, putFile, removeFile } from '../../store/files/files.js'
import { checkFileContent, checkFilePath, FileError } from '../../store/files/file-checks.js'
import type { StoredFile } from '../../store/files/files.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { carryOut, isRepeated } from '../once.js'
import { nowMicros } from '../../protocol/time.js'

/**
 * The bytes from `start` up to `end`, which is not included. A negative number counts from the end, as in `slice`.
 */
export interface FileRange {
  readonly start?: number
  readonly end?: number
}

/** A file, or a part of it, whose bytes are read while they are iterated. */
export interface FileStream {
  readonly file: FileRecord
  /** The range of the bytes in `data`; `end` is not included. */
  readonly start: number
  readonly end: number
  /** Iterating a whole file throws StoreError `corrupt` at its end if the bytes are damaged; a part is checked before. */
  readonly data: AsyncIterable<Uint8Array>
}

/** A thread's own files, as its tools see them. Paths are absolute: `/notes/plan.md`. */
export interface ThreadFiles {
  /** Null if there is no such file. */
  readFile(path: string): Promise<ArrayBuffer | null>
  /** As `readFile`, in pieces: later writes to the path do not change the stream. */
  readFileStream(path: string, range?: FileRange): Promise<FileStream | null>
  /**
   * Writes or replaces a file; a stream is never held whole in memory. @throws ThreadTerminatedError; FileError for an invalid
   * path or content; StoreError over 100 MB
   */
  writeFile(path: string, data: FileData, mimeType: string): Promise<FileRecord>
  /** Deletes a file; false if there was none. @throws ThreadTerminatedError; FileError `is_folder` */
  unlinkFile(path: string): Promise<boolean>
  /** Null if there is neither file nor folder. */
  statFile(path: string): Promise<FileRecord | null>
  /** Lists the direct entries of a folder; `/` always exists. @throws FileError `not_found` */
  readdirFile(path: string): Promise<{ entries: FileRecord[] }>
}

type FileData = Uint8Array | string | AsyncIterable<Uint8Array>

export function createThreadFiles(context: ClientContext, threadId: string): ThreadFiles {
  return {
    async readFile(path) {
      const store = await context.store()
      const file = await findFile(context, threadId, path)
      if (file === null || file.blob === null) return null
      const bytes = await store.blobs.read(file.blob)
      // A copy, for the bytes may be a part of a larger buffer.
      return bytes === null ? null : new Uint8Array(bytes).buffer
    },
    async readFileStream(path, range = {}) {
      const store = await context.store()
      const file = await findFile(context, threadId, path)
      if (file === null || file.blob === null) return null
      const { start, end } = toPart(file.size, range)
      const isWhole = start === 0 && end === file.size
      const data = await store.blobs.stream(file.blob, isWhole ? undefined : { start, end, size: file.size })
      return data === null ? null : { file: toFileRecord(file), start, end, data }
    },
    writeFile: (path, data, mimeType) => writeFile(context, { threadId, path, data, mimeType }),
    unlinkFile: (path) => unlinkFile(context, threadId, path),
    async statFile(path) {
      const file = await findFile(context, threadId, path)
      return file === null ? null : toFileRecord(file)
    },
    async readdirFile(path) {
      checkText(path)
      const store = await context.store()
      const entries = await store.read(async (db) => {
        await requireThread(db, threadId)
        return listFolder(db, threadId, path)
      })
      if (entries === null)
        throw new FileError('not_found', `Expected a folder ${path}, got none in thread "${threadId}".`)
      return { entries: entries.map(toFileRecord) }
    },
  }
}

interface Writing {
  readonly threadId: string
  readonly path: string
  readonly data: FileData
  readonly mimeType: string
}

async function writeFile(
  context: ClientContext,
  { threadId, path, data, mimeType }: Writing,
): Promise<FileRecord> {
  checkFilePath(path)
  checkFileContent(path, data, mimeType)
  const store = await context.store()
  await store.read(async (db) => {
    if (!(await isRepeated(db, context, threadId))) await requireOpenThread(db, threadId)
  })
  const { digest, size } = await store.blobs.write(typeof data === 'string' ? Buffer.from(data) : data)
  return carryOut(context, {
    ...{ threadId, name: 'writeFile', content: [path, mimeType, digest] },
    store: async (tx) => {
      await requireOpenThread(tx, threadId)
      const file = { threadId, path, mimeType, size, blob: digest, now: nowMicros() }
      return toFileRecord(await putFile(tx, file))
    },
  })
}

async function unlinkFile(context: ClientContext, threadId: string, path: string): Promise<boolean> {
  checkText(path)
  return carryOut(context, {
    ...{ threadId, name: 'unlinkFile', content: path },
    store: async (tx) => {
      await requireOpenThread(tx, threadId)
      return removeFile(tx, threadId, path)
    },
  })
}

function toPart(size: number, { start = 0, end = size }: FileRange): { start: number; end: number } {
  const place = (index: number): number => Math.min(size, Math.max(0, index < 0 ? size + index : index))
  return { start: place(start), end: Math.max(place(start), place(end)) }
}

async function findFile(context: ClientContext, threadId: string, path: string): Promise<StoredFile | null> {
  checkText(path)
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    return statFile(db, threadId, path)
  })
}

/** A reader treats an invalid path as a file that does not exist; only a path that is no text is refused. @throws FileError */
function checkText(path: unknown): void {
  if (typeof path !== 'string') checkFilePath(path)
}

/** Drops the address of the bytes, which is private to the store. */
function toFileRecord({ blob: _blob, ...record }: StoredFile): FileRecord {
  return record
}
