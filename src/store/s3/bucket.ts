import { Readable } from 'node:stream'

import type { S3Client } from '@aws-sdk/client-s3'

import { ConfigError } from '../../protocol/errors.js'
import { asS3Error, statusOf } from './s3-error.js'
import type { S3Location } from './s3-location.js'
import type { Millis } from '../../protocol/time.js'
import { PART_BYTES } from '../files/blob-store.js'

const PARTS_AT_ONCE = 2

/** The requests that blobs need; each fails with a StoreError of one sentence. */
export interface Bucket {
  /** Checks that the bucket exists and that the credentials may list it. */
  check(): Promise<void>
  find(key: string): Promise<FoundObject | null>
  /** Null if there is no such object; empty for a start beyond its end. */
  open(key: string, range?: OpenRange): Promise<AsyncIterable<Uint8Array> | null>
  put(object: NewObject): Promise<void>
  /** Uploads in parts, a few of them in memory; a failure leaves no part behind. */
  upload(key: string, body: Uint8Array | Readable): Promise<void>
  copy(from: string, to: string): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<Omit<FoundObject, 'etag'> & { readonly key: string }>
  /** Unfinished multipart uploads. */
  listUploads(prefix: string): AsyncIterable<UnfinishedUpload>
  abort(upload: UnfinishedUpload): Promise<void>
}

export interface FoundObject {
  readonly size: number
  /** Milliseconds, by the clock of the service. */
  readonly writtenAt: Millis
  /** The service's own digest of the object; empty if it has none. */
  readonly etag: string
}

/** From `start` to the end, or up to and excluding `end`. */
interface OpenRange {
  readonly start: number
  readonly end?: number | undefined
}

interface NewObject {
  readonly key: string
  readonly bytes: Uint8Array
  /** SHA-256 as hexadecimal digits: the service refuses damaged bytes. */
  readonly digest: string
  /** An existing object of this key stays, which is no error. */
  readonly onlyNew: boolean
}

interface UnfinishedUpload {
  readonly key: string
  readonly id: string
  readonly begunAt: Millis
}

/** The context of all requests to one bucket. */
interface BucketRequests {
  readonly sdk: S3Sdk
  readonly client: S3Client
  readonly name: string
  /** Awaits a request and turns errors of the SDK into StoreErrors. */
  readonly withS3Errors: <T>(request: Promise<T>) => Promise<T>
}

interface BucketOptions {
  readonly sdk: S3Sdk
  readonly client: S3Client
  readonly location: S3Location
}

/** Makes the requests to one bucket. */
function createBucket({ sdk, client, location }: BucketOptions): Bucket {
  const { bucket: name, endpoint, prefix } = location
  const place = `the bucket ${name}${endpoint === undefined ? '' : ` at ${endpoint}`}`
  const withS3Errors = async <T>(request: Promise<T>): Promise<T> => {
    try {
      return await request
    } catch (error) {
      throw asS3Error(error, place)
    }
  }
  const requests: BucketRequests = { sdk, client, name, withS3Errors }
  return {
    async check() {
      // A list, because the errors of a HEAD request have no body that names the cause.
      const command = new sdk.s3.ListObjectsV2Command({ Bucket: name, MaxKeys: 1, Prefix: prefix })
      await withS3Errors(client.send(command))
    },
    ...objectRequests(requests),
    ...writeRequests(requests),
    ...listRequests(requests),
  }
}

/** Requests that list a bucket, in pages of a thousand. */
function listRequests(requests: BucketRequests): Pick<Bucket, 'list' | 'listUploads' | 'abort'> {
  const { client, name: Bucket, sdk, withS3Errors } = requests
  const { AbortMultipartUploadCommand, ListMultipartUploadsCommand, ListObjectsV2Command } = sdk.s3
  return {
    async *list(Prefix) {
      let token: string | undefined
      do {
        const page = await withS3Errors(
          client.send(new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken: token })),
        )
        for (const { Key, Size, LastModified } of page.Contents ?? []) {
          if (Key !== undefined) yield { key: Key, size: Size ?? 0, writtenAt: LastModified?.getTime() ?? 0 }
        }
        token = page.IsTruncated === true ? page.NextContinuationToken : undefined
      } while (token !== undefined)
    },
    async *listUploads(Prefix) {
      let marker: Marker | undefined = {}
      while (marker !== undefined) {
        const command: InstanceType<typeof ListMultipartUploadsCommand> = new ListMultipartUploadsCommand({
          Bucket,
          Prefix,
          ...marker,
        })
        const page = await withS3Errors(client.send(command))
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (Key !== undefined && UploadId !== undefined && Initiated !== undefined) {
            yield { key: Key, id: UploadId, begunAt: Initiated.getTime() }
          }
        }
        marker = nextMarker(page)
      }
    },
    async abort({ key, id }) {
      const command = new AbortMultipartUploadCommand({ Bucket, Key: key, UploadId: id })
      await withS3Errors(
        client.send(command).catch((error: unknown) => {
          // Its writer or another sweep has just ended it.
          if (!(error instanceof sdk.s3.NoSuchUpload)) throw error
        }),
      )
    },
  }
}

interface Marker {
  readonly KeyMarker?: string
  readonly UploadIdMarker?: string
}

function nextMarker(page: {
  readonly IsTruncated?: boolean | undefined
  readonly NextKeyMarker?: string | undefined
  readonly NextUploadIdMarker?: string | undefined
}): Marker | undefined {
  const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
  if (IsTruncated !== true || KeyMarker === undefined) return undefined
  return { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) }
}

/** Requests about one object, except writes. */
function objectRequests(requests: BucketRequests): Pick<Bucket, 'find' | 'open' | 'remove'> {
  const { client, name: Bucket, sdk, withS3Errors } = requests
  const { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, NoSuchKey } = sdk.s3
  return {
    find: (Key) =>
      withS3Errors(
        client
          .send(new HeadObjectCommand({ Bucket, Key }))
          .then(({ ContentLength, ETag, LastModified }) => ({
            size: ContentLength ?? 0,
            writtenAt: LastModified?.getTime() ?? 0,
            etag: ETag ?? '',
          }))
          .catch((error: unknown) => {
            if (statusOf(error) === 404) return null
            throw error
          }),
      ),
    open: (Key, range) =>
      withS3Errors(
        client
          .send(new GetObjectCommand({ Bucket, Key, ...rangeHeader(range) }))
          .then(({ Body }) => bodyOf(Body))
          .catch((error: unknown) => {
            if (error instanceof NoSuchKey) return null
            if (statusOf(error) === 416) return Readable.from([])
            throw error
          }),
      ),
    async remove(Key) {
      await withS3Errors(client.send(new DeleteObjectCommand({ Bucket, Key })))
    },
  }
}

function rangeHeader(range?: OpenRange): { Range?: string } {
  if (range === undefined) return {}
  return { Range: `bytes=${range.start}-${range.end === undefined ? '' : range.end - 1}` }
}

function bodyOf(body: unknown): AsyncIterable<Uint8Array> {
  if (body instanceof Readable) return body
  throw new Error('Expected the AWS SDK of Node to answer with a stream, got something else: is it bundled?')
}

/** Requests that write objects. */
function writeRequests(requests: BucketRequests): Pick<Bucket, 'put' | 'upload' | 'copy'> {
  const { client, name: Bucket, sdk, withS3Errors } = requests
  return {
    put: (object) => withS3Errors(put(requests, object)),
    async upload(Key, Body) {
      // `done` waits for all parts in flight and then aborts a failed upload, so that no part stays behind.
      const upload = new sdk.Upload({
        client,
        params: { Bucket, Key, Body },
        partSize: PART_BYTES,
        queueSize: PARTS_AT_ONCE,
      })
      await withS3Errors(upload.done())
    },
    async copy(from, to) {
      const CopySource = `${Bucket}/${encodeURI(from)}`
      await withS3Errors(client.send(new sdk.s3.CopyObjectCommand({ Bucket, Key: to, CopySource })))
    },
  }
}

async function put(requests: BucketRequests, { key, bytes, digest, onlyNew }: NewObject): Promise<void> {
  const { client, name, sdk } = requests
  const input = {
    Bucket: name,
    Key: key,
    Body: bytes,
    ContentLength: bytes.byteLength,
    ChecksumSHA256: Buffer.from(digest, 'hex').toString('base64'),
  }
  try {
    await client.send(new sdk.s3.PutObjectCommand(onlyNew ? { ...input, IfNoneMatch: '*' } : input))
  } catch (error) {
    const status = onlyNew ? statusOf(error) : undefined
    // Another writer was faster with the same bytes, or a response was lost and the retry found our own object.
    if (status === 412) return
    // Another writer is active and may fail, or the service supports no conditions. Writing the same bytes twice is harmless.
    if (status !== 409 && status !== 501) throw error
    await client.send(new sdk.s3.PutObjectCommand(input))
  }
}

/** The used parts of the AWS SDK; types only, so that it is loaded only with S3. */
interface S3Sdk {
  readonly s3: typeof import('@aws-sdk/client-s3')
  readonly Upload: typeof import('@aws-sdk/lib-storage').Upload
}

/** The user's own AWS SDK. @throws ConfigError when it is not installed */
async function loadS3Sdk(): Promise<S3Sdk> {
  try {
    const [s3, { Upload }] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')])
    return { s3, Upload }
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    throw new ConfigError([
      'Expected the AWS SDK for an s3: URL, got none: run npm install @aws-sdk/client-s3 @aws-sdk/lib-storage',
    ])
  }
}

/** Attempts of one request, with the SDK's own pauses: activities retry after it for a day. */
const REQUEST_ATTEMPTS = 4

/** A service that is available accepts a connection in milliseconds. */
const CONNECT_TIMEOUT = 5_000

/** From the first byte of a request to the answer: a part passes at 140 KB/s, and a copy of 100 MB has enough time. */
const REQUEST_TIMEOUT = 60_000

/** An idle connection is closed after this; for a reader that pauses longer it is opened again. */
const IDLE_TIMEOUT = 20_000

/** Time limits of requests; tests use shorter ones. */
interface S3Times {
  readonly connect: number
  readonly request: number
  readonly idle: number
}

const TIMES: S3Times = { connect: CONNECT_TIMEOUT, request: REQUEST_TIMEOUT, idle: IDLE_TIMEOUT }

export async function openBucket(location: S3Location, times = TIMES): Promise<Bucket> {
  const sdk = await loadS3Sdk()
  const { region, endpoint, forcePathStyle } = location
  const client = new sdk.s3.S3Client({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle,
    maxAttempts: REQUEST_ATTEMPTS,
    // The whole blob is compared with its digest here: the checksums of the service are of parts.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: times.connect,
      requestTimeout: times.request,
      throwOnRequestTimeout: true,
      socketTimeout: times.idle,
    },
  })
  return createBucket({ sdk, client, location })
}
