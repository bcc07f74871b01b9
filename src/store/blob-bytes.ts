import { createHash } from 'node:crypto'

import { LIMITS } from '../protocol/limits.js'
import type { ByteRange } from './blob-store.js'
import { StoreError } from './store-error.js'

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

/** The range itself. @throws Error for one that runs backwards, or is not in whole bytes */
export function checkedRange(range: ByteRange): ByteRange {
  const { start, end } = range
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end) return range
  throw new Error(`Expected a range of bytes such as { start: 0, end: 10 }, got ${start} to ${end}`)
}

/** The chunks as they come. @throws StoreError `corrupt` after the last one, if they were not those of the digest */
export async function* verified(
  chunks: AsyncIterable<Uint8Array>,
  digest: string,
): AsyncIterable<Uint8Array> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
  if (hash.digest('hex') !== digest) throw damagedBlob(digest)
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
