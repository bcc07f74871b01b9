import { randomUUID } from 'node:crypto'
import { join } from 'node:path'

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { inject } from 'vitest'

import { S3_CREDENTIALS } from './s3-server.js'

export interface TestBucket {
  readonly name: string
  readonly endpoint: string
  /** Where its objects are on this machine. */
  readonly folder: string
  /** For `store.blobs`; another endpoint is one that passes on to the server. */
  url(prefix?: string, endpoint?: string): string
  readonly client: S3Client
}

/** A new bucket on the run's S3 server; this process, and those it starts, have the credentials from now on. */
export async function makeBucket(): Promise<TestBucket> {
  const server = inject('s3Server')
  if ('problem' in server) throw new Error(server.problem)
  Object.assign(process.env, S3_CREDENTIALS)
  const { endpoint } = server
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })
  const name = `test-${randomUUID()}`
  await client.send(new CreateBucketCommand({ Bucket: name }))
  return {
    name,
    endpoint,
    client,
    folder: join(server.folder, name),
    url: (prefix = '', through = endpoint) =>
      `s3://${name}/${prefix}?region=us-east-1&endpoint=${encodeURIComponent(through)}`,
  }
}
