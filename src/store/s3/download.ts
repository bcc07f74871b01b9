import { LIMITS } from '../../protocol/limits.js'
import type { ByteRange } from '../blob-store.js'
import { StoreError } from '../store-error.js'
import type { Body, Bucket } from './bucket.js'
import { asS3Error } from './s3-error.js'

export interface Download {
  readonly bucket: Bucket
  readonly key: string
  readonly range?: ByteRange | undefined
  /** The first answer, when it is here already. */
  readonly opened?: Body
}

/** The bytes of an object. A connection that breaks is opened anew where it broke, as long as some bytes come. */
export async function* download({ bucket, key, range, opened }: Download): AsyncIterable<Uint8Array> {
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
      if (fruitless > LIMITS.s3Resumes) throw asS3Error(error, `the object ${key}`)
      body = undefined
    }
  }
}

interface Opening {
  readonly bucket: Bucket
  readonly key: string
  readonly range: { readonly start: number; readonly end: number | undefined } | undefined
}

async function openAt({ bucket, key, range }: Opening): Promise<Body> {
  const body = await bucket.open(key, range)
  if (body !== null) return body
  throw new StoreError(
    'unavailable',
    `Expected the object ${key}, got none: it was deleted while it was read`,
  )
}
