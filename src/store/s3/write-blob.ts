import { createHash, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'

import { LIMITS } from '../../protocol/limits.js'
import { digestOf, tooLargeFile } from '../blob-bytes.js'
import type { StoredBlob } from '../blob-store.js'
import type { Bucket, FoundObject } from './bucket.js'

export interface BlobPlace {
  readonly bucket: Bucket
  readonly keyOf: (digest: string) => string
  /** Keys of what is not whole yet stand under it. */
  readonly drafts: string
  /** Whether the object has the bytes of the digest. */
  readonly isWhole: (digest: string, found: FoundObject) => Promise<boolean>
}

/** Keeps the bytes under their digest. @throws StoreError; what the sender throws, as it is */
export async function writeBlob(
  place: BlobPlace,
  data: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<StoredBlob> {
  if (data instanceof Uint8Array) {
    if (data.byteLength > LIMITS.fileBytes) throw tooLargeFile()
    return writeWhole(place, data)
  }
  const source = measured(data)
  try {
    const start = await source.upTo(LIMITS.s3PartBytes)
    return source.ended() ? await writeWhole(place, start) : await writeStream(place, start, source)
  } finally {
    await source.close()
  }
}

/** Bytes whose digest is known before the first request: those that are there, and whole, need no second upload. */
async function writeWhole({ bucket, keyOf, isWhole }: BlobPlace, bytes: Uint8Array): Promise<StoredBlob> {
  const blob = { digest: digestOf(bytes), size: bytes.byteLength }
  const key = keyOf(blob.digest)
  const known = await bucket.find(key)
  if (known !== null && isFresh(known, blob.size) && (await isWhole(blob.digest, known))) return blob
  if (bytes.byteLength > LIMITS.s3PartBytes) await bucket.upload(key, bytes)
  else await bucket.put({ key, bytes, digest: blob.digest, onlyNew: known === null })
  return blob
}

/** Bytes whose digest is known after the last one: they get a key of their own first, and the service copies them. */
async function writeStream(place: BlobPlace, start: Uint8Array, source: Measured): Promise<StoredBlob> {
  const { bucket, keyOf, isWhole } = place
  const draft = `${place.drafts}${randomUUID()}`
  await bucket.upload(draft, Readable.from(source.after(start))).catch((error: unknown) => {
    // A sender's own error is not the service's.
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
    // One that stays is removed by `deleteDrafts`: the blob is written all the same.
    await bucket.remove(draft).catch(() => undefined)
  }
}

/** Older ones are written once more: who sweeps by age must not take them from their new owner. */
function isFresh(known: { readonly size: number; readonly writtenAt: number }, size: number): boolean {
  return known.size === size && known.writtenAt > Date.now() - LIMITS.blobRenewal
}

interface Measured {
  /** More than that many bytes, or all there are. */
  upTo(bytes: number): Promise<Uint8Array>
  ended(): boolean
  after(start: Uint8Array): AsyncIterable<Uint8Array>
  failure(): Error | undefined
  /** When all was read. */
  blob(): StoredBlob
  /** Tells the sender that no more is wanted. */
  close(): Promise<void>
}

/** The sender's chunks, counted and digested as they pass. */
function measured(data: AsyncIterable<Uint8Array>): Measured {
  const hash = createHash('sha256')
  let size = 0
  let ended = false
  let failure: Error | undefined
  // What is thrown while a chunk is out comes from its taker, not from the sender.
  let isOut = false

  async function* chunks(): AsyncGenerator<Uint8Array, void> {
    try {
      for await (const chunk of data) {
        size += chunk.byteLength
        if (size > LIMITS.fileBytes) throw tooLargeFile()
        hash.update(chunk)
        // A sender may fill one buffer again and again, and parts wait here for their upload.
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
    ended: () => ended,
    async *after(start) {
      yield start
      yield* passing
    },
    failure: () => failure,
    blob: () => ({ digest: hash.digest('hex'), size }),
    close: async () => void (await passing.return()),
  }
}
