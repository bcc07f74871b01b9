import { LIMITS } from '../../protocol/limits.js'
import type { Bucket, BucketRequests, NewObject } from './bucket.js'
import { statusOf } from './s3-error.js'

/** What brings bytes into a bucket. */
export function writeRequests(requests: BucketRequests): Pick<Bucket, 'put' | 'upload' | 'copy'> {
  const { client, name: Bucket, sdk, sent } = requests
  return {
    put: (object) => sent(put(requests, object)),
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
      await sent(client.send(new sdk.s3.CopyObjectCommand({ Bucket, Key: to, CopySource })))
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
    // Another was quicker with the same bytes, or an answer was lost and the retry met our own object.
    if (status === 412) return
    // Another is writing, and may yet fail; or the service knows no conditions. The same bytes twice do no harm.
    if (status !== 409 && status !== 501) throw error
    await client.send(new sdk.s3.PutObjectCommand(input))
  }
}
