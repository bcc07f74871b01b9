import { createHash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import type { Stats } from 'node:fs'
import { lstat, lutimes, open, readdir, rename, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { LIMITS } from '../../protocol/limits.js'
import { diskError, makeFolders } from '../disk.js'
import { StoreError } from '../store-error.js'
import {
  checkDigest,
  checkRange,
  damagedBlobError,
  digestOf,
  isDigest,
  isDraftName,
  rememberWholeBlobs,
  tooLargeFileError,
  verifyChunks,
} from './blob-store.js'
import type { BlobStore, ByteRange, StoredBlob } from './blob-store.js'
import type { Millis } from '../../protocol/time.js'

/** Opens a folder of blobs, `ab/cd/abcd…`, and makes it if it is missing. @throws StoreError `unavailable` */
export async function openDirectoryBlobs(folder: string): Promise<BlobStore> {
  const temporary = join(folder, 'tmp')
  const whole = rememberWholeBlobs()
  const pathOf = (digest: string) => join(folder, digest.slice(0, 2), digest.slice(2, 4), digest)
  const inFolder = (error: unknown) => diskError(error, `the blob folder ${folder}`)
  const onDisk: OnDisk = async (work) => {
    try {
      return await work
    } catch (error) {
      throw inFolder(error)
    }
  }
  await onDisk(makeFolders(temporary))

  const store = (chunks: Chunks) => writeBlob({ temporary, pathOf, onDisk }, chunks)

  return {
    async write(data) {
      if (!(data instanceof Uint8Array)) return store(data)
      if (data.byteLength > LIMITS.fileBytes) throw tooLargeFileError()
      const blob = { digest: digestOf(data), size: data.byteLength }
      return (await onDisk(renew(pathOf(blob.digest), data))) ? blob : store([data])
    },
    async read(digest) {
      const data = await onDisk(readWhole(pathOf(checkDigest(digest))))
      if (data !== null && digestOf(data) !== digest) throw damagedBlobError(digest)
      return data
    },
    async stream(digest, range) {
      const path = pathOf(checkDigest(digest))
      const part = range === undefined ? undefined : checkRange(range)
      const found = await onDisk(findBlobFile(path))
      if (found === null) return null
      // Opened by the first read: an unused stream must not hold a file open.
      if (part === undefined) return verifyChunks(chunksOf(path), digest)
      const isWhole = () => whole.isWhole({ digest, version: versionOf(found), bytes: () => chunksOf(path) })
      const isDamaged = found.size !== (part.size ?? found.size) || !(await onDisk(isWhole()))
      if (isDamaged) throw damagedBlobError(digest)
      return chunksOf(path, part)
    },
    async delete(digest, writtenBefore = Infinity) {
      const path = pathOf(checkDigest(digest))
      const found = await onDisk(findBlobFile(path))
      if (found === null || found.mtimeMs >= writtenBefore) return false
      await onDisk(rm(path, { force: true }))
      return true
    },
    async *list() {
      try {
        yield* listBlobFolder(folder)
      } catch (error) {
        throw inFolder(error)
      }
    },
    deleteDrafts: (begunBefore) => onDisk(deleteOldDrafts(temporary, begunBefore)),
  }
}

/** Changes with the file, its size and its time; other bytes with the same size and time are not detected. */
function versionOf({ ino, size, mtimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs}`
}

type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

interface BlobFolder {
  /** The folder of drafts. */
  readonly temporary: string
  readonly pathOf: (digest: string) => string
  readonly onDisk: OnDisk
}

async function writeBlob({ temporary, pathOf, onDisk }: BlobFolder, chunks: Chunks): Promise<StoredBlob> {
  const draft = join(temporary, randomUUID())
  try {
    const blob = await writeDraft(draft, chunks, onDisk)
    await onDisk(publish(draft, pathOf(blob.digest)))
    return blob
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/** Turns errors of file operations into StoreErrors that name the folder; errors of the caller's chunks are not affected. */
type OnDisk = <T>(work: Promise<T>) => Promise<T>

/**
 * Whether the same bytes are stored undamaged. Renews their age, so that a sweep by age does not delete them from their new
 * owner.
 */
async function renew(path: string, data: Uint8Array): Promise<boolean> {
  const known = await findBlobFile(path)
  if (known?.size !== data.byteLength || !(await hasBytes(path, data))) return false
  const now = new Date()
  return lutimes(path, now, now)
    .then(() => true, nullIfMissing)
    .then(Boolean)
}

async function writeDraft(path: string, chunks: Chunks, onDisk: OnDisk): Promise<StoredBlob> {
  const hash = createHash('sha256')
  let size = 0
  const file = await onDisk(open(path, 'wx'))
  try {
    for await (const chunk of chunks) {
      size += chunk.byteLength
      if (size > LIMITS.fileBytes) throw tooLargeFileError()
      hash.update(chunk)
      await onDisk(file.writeFile(chunk))
    }
    await onDisk(file.sync())
  } finally {
    await file.close()
  }
  return { digest: hash.digest('hex'), size }
}

/** Makes the blob visible to readers; its bytes were synced before. */
async function publish(draft: string, path: string): Promise<void> {
  await makeFolders(dirname(path))
  await rename(draft, path)
  await syncFolder(dirname(path))
}

/** Syncs the new name too: it must survive a power cut, as the rows that point to it do. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function hasBytes(path: string, data: Uint8Array): Promise<boolean> {
  let at = 0
  for await (const chunk of chunksOf(path)) {
    const same = data.subarray(at, at + chunk.byteLength)
    if (Buffer.compare(chunk, same) !== 0) return false
    at += chunk.byteLength
  }
  return at === data.byteLength
}

async function readWhole(path: string): Promise<Uint8Array | null> {
  const file = await openBlobFile(path)
  if (file === null) return null
  try {
    return await file.readFile()
  } finally {
    await file.close()
  }
}

async function* chunksOf(path: string, range?: ByteRange): AsyncIterable<Uint8Array> {
  // Node's `end` is inclusive, which cannot express an empty range.
  if (range !== undefined && range.start === range.end) return
  const last = range === undefined ? {} : { start: range.start, end: range.end - 1 }
  const chunks: AsyncIterable<Uint8Array> = (await openExisting(path)).createReadStream(last)
  yield* chunks
}

/** Opens a blob that existed a moment ago. */
async function openExisting(path: string): Promise<FileHandle> {
  const file = await openBlobFile(path)
  if (file !== null) return file
  throw new StoreError(
    'unavailable',
    `Expected the blob ${basename(path)}, got none: it was deleted while it was read`,
  )
}

/** Lists the blobs of a folder `ab/cd/abcd…`, with one small folder in memory at a time. */
async function* listBlobFolder(folder: string): ReturnType<BlobStore['list']> {
  for (const first of await readdir(folder)) {
    if (!/^[0-9a-f]{2}$/.test(first)) continue
    for (const second of await namesIn(join(folder, first))) {
      for (const digest of await namesIn(join(folder, first, second))) {
        if (!isDigest(digest)) continue
        const found = await findBlobFile(join(folder, first, second, digest))
        if (found !== null) yield { digest, writtenAt: found.mtimeMs }
      }
    }
  }
}

/** Deletes our drafts that were not modified since the time; returns how many. */
async function deleteOldDrafts(folder: string, begunBefore: Millis): Promise<number> {
  let deleted = 0
  for (const name of await namesIn(folder)) {
    if (!isDraftName(name)) continue
    const found = await findBlobFile(join(folder, name))
    if (found === null || found.mtimeMs >= begunBefore) continue
    await rm(join(folder, name), { force: true })
    deleted += 1
  }
  return deleted
}

/**
 * The status of a blob file; null if there is none. Symbolic links are ignored: someone who can put a link into the folder must
 * not make us read, renew or delete other files. A write replaces the link by a file.
 */
async function findBlobFile(path: string): Promise<Stats | null> {
  const found = await lstat(path).catch(nullIfMissing)
  return found?.isFile() === true ? found : null
}

/** Null if there is none, or if a link has just replaced it. */
async function openBlobFile(path: string): Promise<FileHandle | null> {
  if ((await findBlobFile(path)) === null) return null
  return open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) =>
    error instanceof Error && 'code' in error && error.code === 'ELOOP' ? null : nullIfMissing(error),
  )
}

/** For `catch`: null for a missing file; rethrows any other error. */
function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  throw error
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    // A file beside our folders belongs to another program.
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return []
    return nullIfMissing(error) ?? []
  })
}
