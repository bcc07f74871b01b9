import type { Readable } from 'node:stream'

import type { S3Client } from '@aws-sdk/client-s3'

import { listRequests } from './list-requests.js'
import type { S3Sdk } from './load-sdk.js'
import { objectRequests } from './object-requests.js'
import { asS3Error } from './s3-error.js'
import type { S3Location } from './s3-location.js'
import { writeRequests } from './write-requests.js'

/** The few requests that blobs need; each throws a StoreError of one sentence. */
export interface Bucket {
  /** Whether it is there and these credentials may list it. */
  check(): Promise<void>
  find(key: string): Promise<FoundObject | null>
  /** Null if there is none; nothing for a start beyond its end. */
  open(key: string, range?: OpenRange): Promise<Body | null>
  put(object: NewObject): Promise<void>
  /** In parts, a few of them in memory; what fails leaves no part behind. */
  upload(key: string, body: Uint8Array | Readable): Promise<void>
  copy(from: string, to: string): Promise<void>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<Omit<FoundObject, 'etag'> & { readonly key: string }>
  /** Uploads in parts that nobody has ended. */
  unfinished(prefix: string): AsyncIterable<UnfinishedUpload>
  abort(upload: UnfinishedUpload): Promise<void>
}

export interface FoundObject {
  readonly size: number
  /** Milliseconds, of the service's clock. */
  readonly writtenAt: number
  /** The service's own digest of what was uploaded; empty if it gives none. */
  readonly etag: string
}

/** From `start`, to the end or up to and without `end`. */
export interface OpenRange {
  readonly start: number
  readonly end?: number | undefined
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

/** What the requests to one bucket share. */
export interface BucketRequests {
  readonly sdk: S3Sdk
  readonly client: S3Client
  readonly name: string
  /** The answer; what the SDK throws as a StoreError. */
  readonly sent: <T>(request: Promise<T>) => Promise<T>
}

export interface BucketOptions {
  readonly sdk: S3Sdk
  readonly client: S3Client
  readonly location: S3Location
}

/** A bucket as seen by blobs. */
export function createBucket({ sdk, client, location }: BucketOptions): Bucket {
  const { bucket: name, endpoint, prefix } = location
  const place = `the bucket ${name}${endpoint === undefined ? '' : ` at ${endpoint}`}`
  const sent = async <T>(request: Promise<T>): Promise<T> => {
    try {
      return await request
    } catch (error) {
      throw asS3Error(error, place)
    }
  }
  const requests: BucketRequests = { sdk, client, name, sent }
  return {
    async check() {
      // A list, not a HEAD: its errors say what is wrong, those of a HEAD have no body.
      const command = new sdk.s3.ListObjectsV2Command({ Bucket: name, MaxKeys: 1, Prefix: prefix })
      await sent(client.send(command))
    },
    ...objectRequests(requests),
    ...writeRequests(requests),
    ...listRequests(requests),
  }
}
