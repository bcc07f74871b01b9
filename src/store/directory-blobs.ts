import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { LIMITS } from '../protocol/limits.js'
import { checkedDigest, checkedRange, damagedBlob, digestOf, tooLargeFile, verified } from './blob-bytes.js'
import { deleteOldDrafts, listBlobFolder, nullIfMissing, writtenTime } from './blob-folder.js'
import type { BlobStore, ByteRange, StoredBlob } from './blob-store.js'
import { diskError } from './disk-error.js'
import { makeFolders } from './make-folders.js'

/** A folder of blobs, `ab/cd/abcd…`; made if it is missing. @throws StoreError `unavailable` */
export async function openDirectoryBlobs(folder: string): Promise<BlobStore> {
  const temporary = join(folder, 'tmp')
  const pathOf = (digest: string) => join(folder, digest.slice(0, 2), digest.slice(2, 4), digest)
  const onDisk: OnDisk = async (work) => {
    try {
      return await work
    } catch (error) {
      throw diskError(error, `the blob folder ${folder}`)
    }
  }
  await onDisk(makeFolders(temporary))

  async function store(chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<StoredBlob> {
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

  return {
    async write(data) {
      if (!(data instanceof Uint8Array)) return store(data)
      if (data.byteLength > LIMITS.fileBytes) throw tooLargeFile()
      const blob = { digest: digestOf(data), size: data.byteLength }
      return (await onDisk(renew(pathOf(blob.digest), blob.size))) ? blob : store([data])
    },
    async read(digest) {
      const data = await onDisk(readFile(pathOf(checkedDigest(digest))).catch(nullIfMissing))
      if (data !== null && digestOf(data) !== digest) throw damagedBlob(digest)
      return data
    },
    async stream(digest, range) {
      const path = pathOf(checkedDigest(digest))
      const part = range === undefined ? undefined : checkedRange(range)
      const found = await onDisk(stat(path).catch(nullIfMissing))
      // Opened when somebody iterates: a stream that nobody reads must not hold a file open.
      if (found === null) return null
      return part === undefined ? verified(chunksOf(path), digest) : chunksOf(path, part)
    },
    async delete(digest, writtenBefore = Infinity) {
      const path = pathOf(checkedDigest(digest))
      const writtenAt = await onDisk(writtenTime(path))
      if (writtenAt === null || writtenAt >= writtenBefore) return false
      await onDisk(rm(path, { force: true }))
      return true
    },
    async *list() {
      try {
        yield* listBlobFolder(folder)
      } catch (error) {
        throw diskError(error, `the blob folder ${folder}`)
      }
    },
    deleteDrafts: (begunBefore) => onDisk(deleteOldDrafts(temporary, begunBefore)),
  }
}

/** Names the blob folder in the errors of our own file operations, not in those of the caller's chunks. */
type OnDisk = <T>(work: Promise<T>) => Promise<T>

/** Whether the bytes are there already. Written anew now: who sweeps by age must not take them from their new owner. */
async function renew(path: string, size: number): Promise<boolean> {
  const known = await stat(path).catch(nullIfMissing)
  if (known?.size !== size) return false
  const now = new Date()
  return utimes(path, now, now)
    .then(() => true, nullIfMissing)
    .then(Boolean)
}

async function writeDraft(
  path: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  onDisk: OnDisk,
): Promise<StoredBlob> {
  const hash = createHash('sha256')
  let size = 0
  const file = await onDisk(open(path, 'wx'))
  try {
    for await (const chunk of chunks) {
      size += chunk.byteLength
      if (size > LIMITS.fileBytes) throw tooLargeFile()
      hash.update(chunk)
      await onDisk(file.writeFile(chunk))
    }
    await onDisk(file.sync())
  } finally {
    await file.close()
  }
  return { digest: hash.digest('hex'), size }
}

/** From here on readers find it, whole: the bytes were synced before the name exists. */
async function publish(draft: string, path: string): Promise<void> {
  await makeFolders(dirname(path))
  await rename(draft, path)
  await syncFolder(dirname(path))
}

/** The new name must survive a power cut too: rows that point to it will. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function* chunksOf(path: string, range?: ByteRange): AsyncIterable<Uint8Array> {
  // Node's own `end` is the last byte that is read: an empty range has none.
  if (range !== undefined && range.start === range.end) return
  const last = range === undefined ? {} : { start: range.start, end: range.end - 1 }
  const chunks: AsyncIterable<Uint8Array> = createReadStream(path, last)
  yield* chunks
}
