import { createHash } from 'node:crypto'
import { LIMITS } from '../../protocol/limits.js'
import { StoreError } from '../store-error.js'
import type { Millis } from '../../protocol/time.js'

/** The bytes of one S3 request, and of one part of a stream: some five parts are in memory, and a failed one is sent again. */
export const PART_BYTES = 8 * 1024 * 1024

/** Bytes by their digest: written bytes never change, and equal bytes are stored once. */
export interface BlobStore {
  /** Stores bytes, durably and whole when it returns, also over damaged ones. @throws StoreError `too_large` above LIMITS.fileBytes */
  write(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob>
  /** Null if there is none. @throws StoreError `corrupt` */
  read(digest: string): Promise<Uint8Array | null>
  /**
   * Null if there is none. Without a range, iterating throws StoreError `corrupt` at the end if the bytes are damaged. Before a
   * range is returned, the whole blob is compared with its digest, once for each version of it in a process; in a bucket only
   * up to PART_BYTES, and for larger objects only the size.
   * @throws StoreError `corrupt` for a range of a damaged blob
   */
  stream(digest: string, range?: PartOfBlob): Promise<AsyncIterable<Uint8Array> | null>
  /**
   * Deletes the bytes for every thread. Returns false if there are none, or if they were written since the given time
   * (milliseconds).
   */
  delete(digest: string, writtenBefore?: Millis): Promise<boolean>
  /** All blobs in no order; concurrent writes and deletions may be included or not. */
  list(): AsyncIterable<ListedBlob>
  /** Deletes the drafts of writes that began before the time (milliseconds) and never ended; returns how many. */
  deleteDrafts(begunBefore: Millis): Promise<number>
}

/** Bytes from `start` up to and excluding `end`; a range beyond the last byte is empty, not an error. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A range of a blob. `size` is the expected size of the blob: one of another size is damaged. */
interface PartOfBlob extends ByteRange {
  readonly size?: number
}

interface ListedBlob {
  readonly digest: string
  /** When any thread last wrote these bytes, in milliseconds, with an error of at most an hour. */
  readonly writtenAt: Millis
}

export interface StoredBlob {
  /** SHA-256, 64 hexadecimal digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** SHA-256 as hexadecimal digits, the name of a blob. */
export function digestOf(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** @throws for anything but a digest: it becomes a part of a path or key, and could otherwise point elsewhere. */
export function checkDigest(digest: string): string {
  if (isDigest(digest)) return digest
  throw new Error(`Expected a SHA-256 digest of 64 hexadecimal digits, got ${digest.length} characters`)
}

/** Whether the text is a digest. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

/** Whether the name is one of our drafts: other programs may use a `tmp` in the same folder or bucket. */
export function isDraftName(name: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)
}

/** Returns the range. @throws Error for a reversed range, or one without whole numbers */
export function checkRange<R extends ByteRange>(range: R): R {
  const { start, end } = range
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return range
  throw new Error(`Expected a range of bytes such as { start: 0, end: 10 }, got ${start} to ${end}`)
}

/**
 * Passes the chunks on, and the last one only if all match the digest: a receiver that relies on the size, as HTTP does, must
 * not get all of a damaged blob. @throws StoreError `corrupt`
 */
export async function* verifyChunks(
  chunks: AsyncIterable<Uint8Array>,
  digest: string,
): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256')
  let held: Uint8Array | undefined
  for await (const chunk of chunks) {
    if (chunk.byteLength === 0) continue
    if (held !== undefined) yield held
    hash.update(chunk)
    held = chunk
  }
  if (hash.digest('hex') !== digest) throw damagedBlobError(digest)
  if (held !== undefined) yield held
}

/** The error for a reader of damaged bytes. */
export function damagedBlobError(digest: string): StoreError {
  return new StoreError(
    'corrupt',
    `The bytes of blob ${digest} are not those written; restore it from a backup`,
  )
}

/** The error for a writer of a file above LIMITS.fileBytes. */
export function tooLargeFileError(): StoreError {
  const megabytes = LIMITS.fileBytes / 1024 / 1024
  return new StoreError('too_large', `Expected a file of at most ${megabytes} MB, got a larger one: split it`)
}

/** The number of blobs whose check is remembered; a blob beyond it is read again. */
const MOST_KNOWN = 10_000

/** A version of the bytes of a blob: `version` changes with them. */
interface BlobVersion {
  readonly digest: string
  readonly version: string
  readonly bytes: () => AsyncIterable<Uint8Array>
}

interface WholeBlobs {
  /** Whether the bytes match the digest: each version is read once in the life of this process. */
  isWhole(blob: BlobVersion): Promise<boolean>
}

/** A range has no digest of its own, so the whole blob is checked before a range is returned. */
export function rememberWholeBlobs(): WholeBlobs {
  const checks = new Map<string, Promise<boolean>>()
  return {
    isWhole({ digest, version, bytes }) {
      const key = `${digest} ${version}`
      const known = checks.get(key)
      if (known !== undefined) return known
      const check = isOfDigest(bytes(), digest)
      checks.set(key, check)
      const forget = () => void checks.delete(key)
      // Not remembered: a damaged blob may be repaired without a new version, and a failed read decides nothing.
      check.then((isWhole) => isWhole || forget(), forget)
      const [oldest] = checks.keys()
      if (checks.size > MOST_KNOWN && oldest !== undefined) checks.delete(oldest)
      return check
    },
  }
}

async function isOfDigest(chunks: AsyncIterable<Uint8Array>, digest: string): Promise<boolean> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex') === digest
}
