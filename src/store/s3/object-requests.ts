import { Readable } from 'node:stream'

import type { Body, Bucket, BucketRequests, OpenRange } from './bucket.js'
import { statusOf } from './s3-error.js'

/** What is asked of one object, but for its writing. */
export function objectRequests(requests: BucketRequests): Pick<Bucket, 'find' | 'open' | 'remove'> {
  const { client, name: Bucket, sdk, sent } = requests
  const { DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, NoSuchKey } = sdk.s3
  return {
    find: (Key) =>
      sent(
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
      sent(
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
      await sent(client.send(new DeleteObjectCommand({ Bucket, Key })))
    },
  }
}

function rangeHeader(range?: OpenRange): { Range?: string } {
  if (range === undefined) return {}
  return { Range: `bytes=${range.start}-${range.end === undefined ? '' : range.end - 1}` }
}

function bodyOf(body: unknown): Body {
  if (body instanceof Readable) return body
  throw new Error('Expected the AWS SDK of Node to answer with a stream, got something else: is it bundled?')
}
