import { createHash } from 'node:crypto'
import { LIMITS } from '../../protocol/limits.js'
import { StoreError } from '../store-error.js'

/** Bytes by their digest: what was written is never changed, and the same bytes are kept once. */
export interface BlobStore {
  /** Durable and whole when it returns, also if the same or damaged bytes were there. @throws StoreError `too_large` above LIMITS.fileBytes */
  write(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob>
  /** Null if there is none. @throws StoreError `corrupt` */
  read(digest: string): Promise<Uint8Array | null>
  /**
   * Null if there is none. Without a range, iterating throws StoreError `corrupt` at the end if the bytes are not those
   * written. Before a part is given out, the whole is compared with its digest, once for each version of it in a process; of
   * a bucket only up to LIMITS.s3PartBytes, of larger objects the size alone.
   * @throws StoreError `corrupt` for a part of what is damaged
   */
  stream(digest: string, range?: PartOfBlob): Promise<AsyncIterable<Uint8Array> | null>
  /**
   * Removes the bytes for good, for every thread that has them: false if there are none, or if they were written since
   * the time (ms) given.
   */
  delete(digest: string, writtenBefore?: number): Promise<boolean>
  /** All there is, in no order; what is written or deleted meanwhile may be in it or not. */
  list(): AsyncIterable<ListedBlob>
  /** Removes what writes that began before the time (ms) and never ended have left; answers how many. */
  deleteDrafts(begunBefore: number): Promise<number>
}

/** Bytes from `start` up to, and without, `end`; beyond the last byte there is nothing, which is no error. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** A range, and how many bytes the blob has, if the caller knows that: of another size it is damaged. */
interface PartOfBlob extends ByteRange {
  readonly size?: number
}

export interface ListedBlob {
  readonly digest: string
  /** When these bytes were last written, by whomever, give or take LIMITS.blobRenewal: milliseconds. */
  readonly writtenAt: number
}

export interface StoredBlob {
  /** SHA-256, 64 hexadecimal digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}

/** SHA-256 in the form that names a blob. */
export function digestOf(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/** A digest becomes a part of a path or of a key: anything else would leave the place. */
export function checkedDigest(digest: string): string {
  if (isDigest(digest)) return digest
  throw new Error(`Expected a SHA-256 digest of 64 hexadecimal digits, got ${digest.length} characters`)
}

/** Whether the text may name a blob. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

/** Whether the name is one that drafts get here: a folder or bucket of others may have a `tmp` too. */
export function isDraftName(name: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)
}

/** The range itself. @throws Error for one that runs backwards, or is not in whole bytes */
export function checkedRange<R extends ByteRange>(range: R): R {
  const { start, end } = range
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return range
  throw new Error(`Expected a range of bytes such as { start: 0, end: 10 }, got ${start} to ${end}`)
}

/**
 * The chunks as they come, the last one only when they are those of the digest: whoever counts on a size, as HTTP does,
 * must not have all of them when they are wrong. @throws StoreError `corrupt`
 */
export async function* verified(
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
  if (hash.digest('hex') !== digest) throw damagedBlob(digest)
  if (held !== undefined) yield held
}

/** What a reader gets instead of bytes that nobody wrote. */
export function damagedBlob(digest: string): StoreError {
  return new StoreError(
    'corrupt',
    `The bytes of blob ${digest} are not those written; restore it from a backup`,
  )
}

/** What a writer gets for a file above LIMITS.fileBytes. */
export function tooLargeFile(): StoreError {
  const megabytes = LIMITS.fileBytes / 1024 / 1024
  return new StoreError('too_large', `Expected a file of at most ${megabytes} MB, got a larger one: split it`)
}

/** Blobs whose check is remembered; one that was forgotten is read once more. */
const MOST_KNOWN = 10_000

/** One state of the bytes of a blob: `version` changes with them. */
interface BlobVersion {
  readonly digest: string
  readonly version: string
  readonly bytes: () => AsyncIterable<Uint8Array>
}

interface WholeBlobs {
  /** Whether the bytes are those of the digest: read once for each version in the life of this process. */
  isWhole(blob: BlobVersion): Promise<boolean>
}

/** A part of a blob has no digest of its own, so the whole is looked at before parts of it are given out. */
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
      // What is damaged may be mended without a new version, and a read that failed says nothing.
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
