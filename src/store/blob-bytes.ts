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
