import { Readable } from 'node:stream'

import type { S3Client } from '@aws-sdk/client-s3'

import { LIMITS } from '../../protocol/limits.js'
import type { S3Sdk } from './load-sdk.js'
import { asS3Error, statusOf } from './s3-error.js'
import type { S3Location } from './s3-location.js'

/** The few requests that blobs need; each throws a StoreError of one sentence. */
export interface Bucket {
  /** Whether it is there and these credentials may list it. */
  check(): Promise<void>
  find(key: string): Promise<FoundObject | null>
  /** Null if there is none; nothing for a start beyond its end. */
  open(
    key: string,
    range?: { readonly start: number; readonly end?: number | undefined },
  ): Promise<Body | null>
  put(object: NewObject): Promise<void>
  /** In parts, a few of them in memory; what fails leaves no part behind. */
  upload(key: string, body: Uint8Array | Readable): Promise<void>
  copy(from: string, to: string): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<FoundObject & { readonly key: string }>
  /** Uploads in parts that nobody has ended. */
  unfinished(prefix: string): AsyncIterable<UnfinishedUpload>
  abort(upload: UnfinishedUpload): Promise<void>
}

export interface FoundObject {
  readonly size: number
  /** Milliseconds, of the service's clock. */
  readonly writtenAt: number
}

export type Body = AsyncIterable<Uint8Array>

export interface NewObject {
  readonly key: string
  readonly bytes: Uint8Array
  /** SHA-256 as hexadecimal digits: the service refuses what arrived damaged. */
  readonly digest: string
  /** Another's object of this key stays; that it is there is no error. */
  readonly onlyNew: boolean
}

export interface UnfinishedUpload {
  readonly key: string
  readonly id: string
  readonly begunAt: number
}

export interface BucketOptions {
  readonly sdk: S3Sdk
  readonly client: S3Client
  readonly location: S3Location
}

/** A bucket as seen by blobs. */
export function createBucket({ sdk, client, location }: BucketOptions): Bucket {
  const { s3 } = sdk
  const Bucket = location.bucket
  const place = placeOf(location)
  const sent = async <T>(request: Promise<T>): Promise<T> => {
    try {
      return await request
    } catch (error) {
      throw asS3Error(error, place)
    }
  }

  return {
    async check() {
      // A list, not a HEAD: its errors say what is wrong, those of a HEAD have no body.
      await sent(client.send(new s3.ListObjectsV2Command({ Bucket, MaxKeys: 1, Prefix: location.prefix })))
    },
    find: (Key) =>
      sent(
        client
          .send(new s3.HeadObjectCommand({ Bucket, Key }))
          .then(({ ContentLength, LastModified }) => ({
            size: ContentLength ?? 0,
            writtenAt: LastModified?.getTime() ?? 0,
          }))
          .catch((error: unknown) => {
            if (statusOf(error) === 404) return null
            throw error
          }),
      ),
    open: (Key, range) =>
      sent(
        client
          .send(new s3.GetObjectCommand({ Bucket, Key, ...rangeHeader(range) }))
          .then(({ Body }) => bodyOf(Body))
          .catch((error: unknown) => {
            if (error instanceof s3.NoSuchKey) return null
            if (statusOf(error) === 416) return bodyOf(undefined)
            throw error
          }),
      ),
    put: (object) => sent(put(object)),
    async upload(Key, Body) {
      // Its `done` ends when all parts in flight have ended, and only then aborts what failed: none stays behind.
      const upload = new sdk.Upload({
        client,
        params: { Bucket, Key, Body },
        partSize: LIMITS.s3PartBytes,
        queueSize: LIMITS.s3PartsAtOnce,
      })
      await sent(upload.done())
    },
    async copy(from, to) {
      const CopySource = `${Bucket}/${encodeURI(from)}`
      await sent(client.send(new s3.CopyObjectCommand({ Bucket, Key: to, CopySource })))
    },
    async remove(Key) {
      await sent(client.send(new s3.DeleteObjectCommand({ Bucket, Key })))
    },
    async *list(Prefix) {
      let token: string | undefined
      do {
        const page = await sent(
          client.send(new s3.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken: token })),
        )
        for (const { Key, Size, LastModified } of page.Contents ?? []) {
          if (Key !== undefined) yield { key: Key, size: Size ?? 0, writtenAt: LastModified?.getTime() ?? 0 }
        }
        token = page.IsTruncated === true ? page.NextContinuationToken : undefined
      } while (token !== undefined)
    },
    async *unfinished(Prefix) {
      let marker: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {}
      while (marker !== undefined) {
        const page: Awaited<ReturnType<typeof listUploads>> = await sent(listUploads(Prefix, marker))
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (Key !== undefined && UploadId !== undefined && Initiated !== undefined) {
            yield { key: Key, id: UploadId, begunAt: Initiated.getTime() }
          }
        }
        marker = nextMarker(page)
      }
    },
    async abort({ key, id }) {
      const command = new s3.AbortMultipartUploadCommand({ Bucket, Key: key, UploadId: id })
      await sent(
        client.send(command).catch((error: unknown) => {
          if (!(error instanceof s3.NoSuchUpload)) throw error
        }),
      )
    },
  }

  async function put({ key, bytes, digest, onlyNew }: NewObject): Promise<void> {
    const input = {
      Bucket,
      Key: key,
      Body: bytes,
      ContentLength: bytes.byteLength,
      ChecksumSHA256: Buffer.from(digest, 'hex').toString('base64'),
    }
    try {
      await client.send(new s3.PutObjectCommand(onlyNew ? { ...input, IfNoneMatch: '*' } : input))
    } catch (error) {
      const status = onlyNew ? statusOf(error) : undefined
      // Another was quicker with the same bytes, or an answer was lost and the retry met our own object.
      if (status === 412) return
      // Another is writing, and may yet fail; or the service knows no conditions. The same bytes twice do no harm.
      if (status !== 409 && status !== 501) throw error
      await client.send(new s3.PutObjectCommand(input))
    }
  }

  function listUploads(Prefix: string, marker: { KeyMarker?: string; UploadIdMarker?: string }) {
    return client.send(new s3.ListMultipartUploadsCommand({ Bucket, Prefix, ...marker }))
  }
}

function nextMarker(page: {
  readonly IsTruncated?: boolean | undefined
  readonly NextKeyMarker?: string | undefined
  readonly NextUploadIdMarker?: string | undefined
}): { KeyMarker: string; UploadIdMarker?: string } | undefined {
  const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
  if (IsTruncated !== true || KeyMarker === undefined) return undefined
  return { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) }
}

/** How errors name it. */
function placeOf({ bucket, endpoint }: S3Location): string {
  return `the bucket ${bucket}${endpoint === undefined ? '' : ` at ${endpoint}`}`
}

function rangeHeader(range?: { readonly start: number; readonly end?: number | undefined }): {
  Range?: string
} {
  if (range === undefined) return {}
  return { Range: `bytes=${range.start}-${range.end === undefined ? '' : range.end - 1}` }
}

function bodyOf(body: unknown): Body {
  if (body === undefined) return Readable.from([])
  if (body instanceof Readable) return body
  throw new Error('Expected the AWS SDK of Node to answer with a stream, got something else: is it bundled?')
}
