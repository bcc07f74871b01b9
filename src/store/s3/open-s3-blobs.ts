import { LIMITS } from '../../protocol/limits.js'
import {
  checkedDigest,
  checkedRange,
  damagedBlob,
  digestOf,
  isDigest,
  isDraftName,
  verified,
} from '../blob-bytes.js'
import type { BlobStore } from '../blob-store.js'
import { rememberWholeBlobs } from '../whole-blobs.js'
import { createBucket } from './bucket.js'
import type { Bucket, FoundObject } from './bucket.js'
import { download } from './download.js'
import { loadS3Sdk } from './load-sdk.js'
import type { S3Location } from './s3-location.js'
import { writeBlob } from './write-blob.js'

/** How long a request may take; tests have less time than users. */
export interface S3Times {
  readonly connect: number
  readonly request: number
  readonly idle: number
}

const TIMES: S3Times = { connect: LIMITS.s3Connect, request: LIMITS.s3Request, idle: LIMITS.s3Idle }

/**
 * A bucket of blobs, `prefix/ab/cd/abcd…`, that is there already.
 * @throws ConfigError without the AWS SDK; StoreError `unavailable`
 */
export async function openS3Blobs(location: S3Location, times = TIMES): Promise<BlobStore> {
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
      const key = keyOf(checkedDigest(digest))
      const opened = await bucket.open(key)
      if (opened === null) return null
      const chunks: Uint8Array[] = []
      for await (const chunk of download({ bucket, key, opened })) chunks.push(chunk)
      const data = Buffer.concat(chunks)
      if (digestOf(data) !== digest) throw damagedBlob(digest)
      return data
    },
    async stream(digest, range) {
      const key = keyOf(checkedDigest(digest))
      const part = range === undefined ? undefined : checkedRange(range)
      const found = await bucket.find(key)
      if (found === null) return null
      // Opened when somebody iterates: a stream that nobody reads must not hold a connection.
      const bytes = download({ bucket, key, range: part })
      if (part === undefined) return verified(bytes, digest)
      const isDamaged =
        found.size !== (part.size ?? found.size) ||
        (found.size <= LIMITS.s3PartBytes && !(await isWhole(digest, found)))
      if (isDamaged) throw damagedBlob(digest)
      return bytes
    },
    async delete(digest, writtenBefore = Infinity) {
      const key = keyOf(checkedDigest(digest))
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

async function openBucket(location: S3Location, times: S3Times): Promise<Bucket> {
  const sdk = await loadS3Sdk()
  const { region, endpoint, forcePathStyle } = location
  const client = new sdk.s3.S3Client({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    forcePathStyle,
    maxAttempts: LIMITS.s3Attempts,
    // What was read is compared with its digest here, whole: the service's own checksums are of parts.
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

interface OldDrafts {
  readonly bucket: Bucket
  readonly root: string
  readonly drafts: string
  /** Of a key: the bucket may hold objects and uploads of other programs. */
  readonly isOurs: (key: string) => boolean
  readonly begunBefore: number
}

/** Large bytes are uploaded in parts to their own key too, so unfinished uploads may be under any. */
async function deleteDrafts({ bucket, root, drafts, isOurs, begunBefore }: OldDrafts): Promise<number> {
  let deleted = 0
  for await (const upload of bucket.unfinished(root)) {
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
