import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { LIMITS } from '../protocol/limits.js'
import type { BlobStore, StoredBlob } from './blob-store.js'
import { diskError } from './disk-error.js'
import { makeFolders } from './make-folders.js'
import { StoreError } from './store-error.js'

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
      if (data.byteLength > LIMITS.fileBytes) throw tooLarge()
      const blob = { digest: createHash('sha256').update(data).digest('hex'), size: data.byteLength }
      const known = await stat(pathOf(blob.digest)).catch(() => undefined)
      return known?.size === blob.size ? blob : store([data])
    },
    async read(digest) {
      const data = await onDisk(readFile(pathOf(checked(digest))).catch(nullIfMissing))
      if (data !== null && createHash('sha256').update(data).digest('hex') !== digest) throw damaged(digest)
      return data
    },
    async stream(digest) {
      const path = pathOf(checked(digest))
      const found = await onDisk(stat(path).catch(nullIfMissing))
      // Opened when somebody iterates: a stream that nobody reads must not hold a file open.
      return found === null ? null : verified(path, digest)
    },
  }
}

/** Names the blob folder in the errors of our own file operations, not in those of the caller's chunks. */
type OnDisk = <T>(work: Promise<T>) => Promise<T>

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
      if (size > LIMITS.fileBytes) throw tooLarge()
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

async function* verified(path: string, digest: string): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256')
  const chunks: AsyncIterable<Uint8Array> = createReadStream(path)
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== digest) throw damaged(digest)
}

/** A digest becomes a path: anything else would leave the folder. */
function checked(digest: string): string {
  if (/^[0-9a-f]{64}$/.test(digest)) return digest
  throw new Error(`Expected a SHA-256 digest of 64 hexadecimal digits, got ${digest.length} characters`)
}

function nullIfMissing(error: unknown): null {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
  throw error
}

function damaged(digest: string): StoreError {
  return new StoreError(
    'corrupt',
    `The bytes of blob ${digest} are not those written; restore it from a backup`,
  )
}

function tooLarge(): StoreError {
  const megabytes = LIMITS.fileBytes / 1024 / 1024
  return new StoreError('too_large', `Expected a file of at most ${megabytes} MB, got a larger one: split it`)
}
