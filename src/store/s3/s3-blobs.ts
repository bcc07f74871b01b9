import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'

import { LIMITS } from '../../protocol/limits.js'
import {
  PART_BYTES,
  checkDigest,
  checkRange,
  damagedBlobError,
  digestOf,
  isDigest,
  isDraftName,
  rememberWholeBlobs,
  tooLargeFileError,
  verifyChunks,
} from '../files/blob-store.js'
import type { BlobStore, ByteRange, StoredBlob } from '../files/blob-store.js'
import { StoreError } from '../store-error.js'
import { openBucket } from './bucket.js'
import type { Bucket, FoundObject } from './bucket.js'
import { asS3Error } from './s3-error.js'
import type { S3Location } from './s3-location.js'
import type { Millis } from '../../protocol/time.js'

/** The age at which a blob gets a new time when the same bytes are written again: far below `LIMITS.blobGrace` of sweeps. */
const BLOB_RENEWAL = 3_600_000

/** How often a broken download is opened again without one more byte. */
const RESUMES = 3

type S3Times = Parameters<typeof openBucket>[1]

/**
 * Opens an existing bucket of blobs, `prefix/ab/cd/abcd…`.
 * @throws ConfigError without the AWS SDK; StoreError `unavailable`
 */
export async function openS3Blobs(location: S3Location, times?: S3Times): Promise<BlobStore> {
  const bucket = await openBucket(location, times)
  await bucket.check()
  const root = location.prefix === '' ? '' : `${location.prefix}/`
  const keyOf = (digest: string) => `${root}${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`
  const drafts = `${root}tmp/`
  const digestIn = (key: string): string | null => {
    const digest = key.slice(-64)
    return isDigest(digest) && key === keyOf(digest) ? digest : null
  }
  const isDraft = (key: string) => key.startsWith(drafts) && isDraftName(key.slice(drafts.length))
  const isOurs = (key: string) => isDraft(key) || digestIn(key) !== null

  const whole = rememberWholeBlobs()
  const isWhole = (digest: string, { etag, size, writtenAt }: FoundObject): Promise<boolean> =>
    whole.isWhole({
      digest,
      version: `${etag} ${size} ${writtenAt}`,
      bytes: () => download({ bucket, key: keyOf(digest) }),
    })

  return {
    write: (data) => writeBlob({ bucket, keyOf, drafts, isWhole }, data),
    async read(digest) {
      const key = keyOf(checkDigest(digest))
      const opened = await bucket.open(key)
      if (opened === null) return null
      const chunks: Uint8Array[] = []
      for await (const chunk of download({ bucket, key, opened })) chunks.push(chunk)
      const data = Buffer.concat(chunks)
      if (digestOf(data) !== digest) throw damagedBlobError(digest)
      return data
    },
    async stream(digest, range) {
      const key = keyOf(checkDigest(digest))
      const part = range === undefined ? undefined : checkRange(range)
      const found = await bucket.find(key)
      if (found === null) return null
      // Opened by the first read: an unused stream must not hold a connection.
      const bytes = download({ bucket, key, range: part })
      if (part === undefined) return verifyChunks(bytes, digest)
      const isDamaged =
        found.size !== (part.size ?? found.size) ||
        (found.size <= PART_BYTES && !(await isWhole(digest, found)))
      if (isDamaged) throw damagedBlobError(digest)
      return bytes
    },
    async delete(digest, writtenBefore = Infinity) {
      const key = keyOf(checkDigest(digest))
      const found = await bucket.find(key)
      if (found === null || found.writtenAt >= writtenBefore) return false
      await bucket.remove(key)
      return true
    },
    async *list() {
      for await (const { key, writtenAt } of bucket.list(root)) {
        const digest = digestIn(key)
        if (digest !== null) yield { digest, writtenAt }
      }
    },
    deleteDrafts: (begunBefore) => deleteDrafts({ bucket, root, drafts, isOurs, begunBefore }),
  }
}

interface OldDrafts {
  readonly bucket: Bucket
  readonly root: string
  readonly drafts: string
  /** Whether a key is ours: the bucket may contain objects and uploads of other programs. */
  readonly isOurs: (key: string) => boolean
  readonly begunBefore: Millis
}

/** Large blobs are uploaded in parts to their own key too, so unfinished uploads may have any key. */
async function deleteDrafts({ bucket, root, drafts, isOurs, begunBefore }: OldDrafts): Promise<number> {
  let deleted = 0
  for await (const upload of bucket.listUploads(root)) {
    if (upload.begunAt >= begunBefore || !isOurs(upload.key)) continue
    await bucket.abort(upload)
    deleted += 1
  }
  for await (const draft of bucket.list(drafts)) {
    if (draft.writtenAt >= begunBefore || !isOurs(draft.key)) continue
    await bucket.remove(draft.key)
    deleted += 1
  }
  return deleted
}

export interface BlobPlace {
  readonly bucket: Bucket
  readonly keyOf: (digest: string) => string
  /** The prefix of the keys of drafts. */
  readonly drafts: string
  /** Whether the object has the bytes of that digest. */
  readonly isWhole: (digest: string, found: FoundObject) => Promise<boolean>
}

/** Stores the bytes under their digest. @throws StoreError; errors of the sender unchanged */
async function writeBlob(
  place: BlobPlace,
  data: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<StoredBlob> {
  if (data instanceof Uint8Array) {
    if (data.byteLength > LIMITS.fileBytes) throw tooLargeFileError()
    return writeWhole(place, data)
  }
  const source = measureChunks(data)
  try {
    const start = await source.upTo(PART_BYTES)
    return source.isEnded() ? await writeWhole(place, start) : await writeStream(place, start, source)
  } finally {
    await source.close()
  }
}

/** Stores bytes in memory, whose digest is known before the first request: undamaged existing ones are not uploaded again. */
async function writeWhole({ bucket, keyOf, isWhole }: BlobPlace, bytes: Uint8Array): Promise<StoredBlob> {
  const blob = { digest: digestOf(bytes), size: bytes.byteLength }
  const key = keyOf(blob.digest)
  const known = await bucket.find(key)
  if (known !== null && isFresh(known, blob.size) && (await isWhole(blob.digest, known))) return blob
  if (bytes.byteLength > PART_BYTES) await bucket.upload(key, bytes)
  else await bucket.put({ key, bytes, digest: blob.digest, onlyNew: known === null })
  return blob
}

/** Stores a stream, whose digest is known at its end: it is uploaded under a draft key, and the service copies it. */
async function writeStream(place: BlobPlace, start: Uint8Array, source: Measured): Promise<StoredBlob> {
  const { bucket, keyOf, isWhole } = place
  const draft = `${place.drafts}${randomUUID()}`
  await bucket.upload(draft, Readable.from(source.after(start))).catch((error: unknown) => {
    // An error of the sender is not one of the service.
    throw source.failure() ?? error
  })
  try {
    const blob = source.blob()
    const key = keyOf(blob.digest)
    const known = await bucket.find(key)
    const isThere = known !== null && isFresh(known, blob.size) && (await isWhole(blob.digest, known))
    if (!isThere) await bucket.copy(draft, key)
    return blob
  } finally {
    // The blob is written; `deleteDrafts` deletes a draft that stays.
    await bucket.remove(draft).catch(() => undefined)
  }
}

/** Older blobs are written again, so that a sweep by age does not delete them from their new owner. */
function isFresh(known: { readonly size: number; readonly writtenAt: Millis }, size: number): boolean {
  return known.size === size && known.writtenAt > Date.now() - BLOB_RENEWAL
}

interface Measured {
  /** Reads more than that many bytes, or all. */
  upTo(bytes: number): Promise<Uint8Array>
  isEnded(): boolean
  after(start: Uint8Array): AsyncIterable<Uint8Array>
  failure(): Error | undefined
  /** The digest and size, once everything is read. */
  blob(): StoredBlob
  /** Ends the iteration of the sender. */
  close(): Promise<void>
}

/** Counts and digests the chunks of a sender as they pass. */
function measureChunks(data: AsyncIterable<Uint8Array>): Measured {
  const hash = createHash('sha256')
  let size = 0
  let ended = false
  let failure: Error | undefined
  // An error while a chunk is being consumed comes from the consumer, not from the sender.
  let isOut = false

  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of data) {
        size += chunk.byteLength
        if (size > LIMITS.fileBytes) throw tooLargeFileError()
        hash.update(chunk)
        // Copied, because a sender may reuse its buffer while parts wait for their upload.
        isOut = true
        yield Uint8Array.from(chunk)
        isOut = false
      }
    } catch (error) {
      if (!isOut) failure = error instanceof Error ? error : new Error(String(error), { cause: error })
      throw error
    }
  }
  const passing = chunks()

  return {
    async upTo(bytes) {
      const parts: Uint8Array[] = []
      while (!ended && size <= bytes) {
        const next = await passing.next()
        if (next.done === true) ended = true
        else parts.push(next.value)
      }
      return Buffer.concat(parts)
    },
    isEnded: () => ended,
    async *after(start) {
      yield start
      yield* passing
    },
    failure: () => failure,
    blob: () => ({ digest: hash.digest('hex'), size }),
    close: async () => void (await passing.return()),
  }
}

export interface Download {
  readonly bucket: Bucket
  readonly key: string
  readonly range?: ByteRange | undefined
  /** The first response, if there is one already. */
  readonly opened?: AsyncIterable<Uint8Array>
}

/** Reads an object. A broken connection is resumed where it broke, as long as each one delivers some bytes. */
async function* download({ bucket, key, range, opened }: Download): AsyncIterable<Uint8Array> {
  let at = range?.start ?? 0
  let fruitless = 0
  let body = opened
  while (range === undefined || at < range.end) {
    body ??= await openAt({
      bucket,
      key,
      range: at === 0 && range === undefined ? undefined : { start: at, end: range?.end },
    })
    try {
      for await (const chunk of body) {
        at += chunk.byteLength
        fruitless = 0
        yield chunk
      }
      return
    } catch (error) {
      fruitless += 1
      if (fruitless > RESUMES) throw asS3Error(error, `the object ${key}`)
      body = undefined
    }
  }
}

interface Opening {
  readonly bucket: Bucket
  readonly key: string
  readonly range: { readonly start: number; readonly end: number | undefined } | undefined
}

async function openAt({ bucket, key, range }: Opening): Promise<AsyncIterable<Uint8Array>> {
  const body = await bucket.open(key, range)
  if (body !== null) return body
  throw new StoreError(
    'unavailable',
    `Expected the object ${key}, got none: it was deleted while it was read`,
  )
}
