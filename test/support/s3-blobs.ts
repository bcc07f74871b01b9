import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import type { BlobStore } from '../../src/store/files/blob-store.js'
import { openS3Blobs } from '../../src/store/s3/s3-blobs.js'
import { parseS3Url } from '../../src/store/s3/s3-location.js'
import type { TestBucket } from './s3-bucket.js'

const MB = 1_048_576

/** The blobs of a URL, whose service is given up on in seconds. */
export async function openBucket(url: string): Promise<BlobStore> {
  const location = parseS3Url('store.blobs', url)
  if ('problems' in location) throw new Error(location.problems.join('\n'))
  return openS3Blobs(location, { connect: 500, request: 1000, idle: 500 })
}

/** The keys and the unfinished uploads of a bucket, whatever they are. */
export async function contentOf({ client, name }: TestBucket): Promise<readonly string[]> {
  const objects = await client.send(new ListObjectsV2Command({ Bucket: name }))
  const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket: name }))
  return [
    ...(objects.Contents ?? []).map(({ Key }) => Key ?? ''),
    ...(uploads.Uploads ?? []).map(({ Key }) => `unfinished ${Key}`),
  ]
}

/** A file in chunks of 1 MB that are all different, and what was taken of it. */
export function megabytes(count: number): { chunks: AsyncIterable<Uint8Array>; taken(): number } {
  let taken = 0
  async function* chunks(): AsyncIterable<Uint8Array> {
    for (; taken < count; taken++) yield new Uint8Array(MB).fill(taken + 1)
  }
  return { chunks: chunks(), taken: () => taken }
}

/** The same bytes in one piece. */
export function wholeMegabytes(count: number): Uint8Array {
  const bytes = new Uint8Array(count * MB)
  for (let n = 0; n < count; n++) bytes.fill(n + 1, n * MB, (n + 1) * MB)
  return bytes
}

/** All chunks in one piece. */
export async function collect(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream ?? []) chunks.push(chunk)
  return Buffer.concat(chunks)
}
