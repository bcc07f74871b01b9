import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { ConfigError } from '../../src/protocol/errors.js'
import { openStore } from '../../src/store/open-store.js'
import { StoreError } from '../../src/store/store-error.js'
import { startAnsweringProxy } from '../support/answering-proxy.js'
import type { OwnAnswer } from '../support/answering-proxy.js'
import { startCuttingProxy } from '../support/cutting-proxy.js'
import { freePort } from '../support/free-port.js'
import { openBucket } from '../support/s3-blobs.js'
import { makeBucket } from '../support/s3-bucket.js'
import type { TestBucket } from '../support/s3-bucket.js'

let bucket: TestBucket

beforeEach(async () => {
  bucket = await makeBucket()
  return () => void vi.unstubAllEnvs()
})

/** The error of a work that must fail: a StoreError of one sentence, without keys. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!StoreError.isInstance(error)) throw new Error('Expected a StoreError', { cause: error })
  expect(error.message).not.toMatch(/\n|everthread-tests|Signature=|AWS4/)
  return `${error.code}: ${error.message}`
}

test('a bucket that is not there is one sentence', async () => {
  const url = bucket.url('files').replace(bucket.name, 'no-such-bucket')
  expect(await refusal(openBucket(url))).toBe(
    `unavailable: Expected to use the bucket no-such-bucket at ${bucket.endpoint}, got NoSuchBucket (HTTP 404): ` +
      'there is no such bucket: make it, or correct the URL',
  )
})

test('wrong and missing credentials are one sentence', async () => {
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong')
  expect(await refusal(openBucket(bucket.url()))).toMatch(/got SignatureDoesNotMatch .*not accepted/)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'unknown')
  expect(await refusal(openBucket(bucket.url()))).toMatch(/HTTP 40[34]\): the credentials are not accepted/)
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  expect(await refusal(openBucket(bucket.url()))).toMatch(/finds no credentials: set AWS_ACCESS_KEY_ID/)
})

test('a missing region is one sentence', async () => {
  for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION']) vi.stubEnv(name, undefined)
  vi.stubEnv('AWS_CONFIG_FILE', '/dev/null')
  expect(await refusal(openBucket(bucket.url().replace('region=us-east-1&', '')))).toMatch(
    /got no region: name one by region= in the URL or by AWS_REGION/,
  )
})

test('a service that is away or silent is one sentence', async () => {
  const away = bucket.url('files', `http://127.0.0.1:${await freePort()}`)
  expect(await refusal(openBucket(away))).toMatch(/^unavailable: .* got ECONNREFUSED: no answer: check/)
  const proxy = await startCuttingProxy(bucket.endpoint)
  onTestFinished(() => proxy.stop())
  proxy.stall('up', 0)
  expect(await refusal(openBucket(bucket.url('files', proxy.endpoint)))).toMatch(/: no answer: check/)
})

test.each<[string, NonNullable<OwnAnswer>, RegExp]>([
  ['too many requests', [503, 'SlowDown'], /^busy: .*SlowDown \(HTTP 503\): it asks for fewer requests/],
  [
    'a denied access',
    [403, 'AccessDenied'],
    /^unavailable: .*may not do that: allow s3:GetObject, PutObject/,
  ],
  ['another region', [301, 'PermanentRedirect'], /^unavailable: .*another region: name it by region=/],
  ['a failing service', [500, 'InternalError'], /^unavailable: .*InternalError \(HTTP 500\): try again/],
])('%s is one sentence', async (_what, answer, sentence) => {
  let isOpen = false
  const proxy = await startAnsweringProxy(bucket.endpoint, () => (isOpen ? answer : undefined))
  onTestFinished(() => proxy.stop())
  const blobs = await openBucket(bucket.url('files', proxy.endpoint))
  isOpen = true
  expect(await refusal(blobs.read('0'.repeat(64)))).toMatch(sentence)
  expect(await refusal(blobs.deleteDrafts(0))).toMatch(sentence)
  expect(await refusal(blobs.list()[Symbol.asyncIterator]().next())).toMatch(sentence)
  // A HEAD has no body, so the status alone has to do.
  expect(await refusal(blobs.write(new Uint8Array(3)))).toMatch(new RegExp(`HTTP ${answer[0]}`))
})

test('a URL that is wrong names all its problems', async () => {
  const store = openStore({ database: 'file:x.db', blobs: 's3://B?endpoint=x&more=1' })
  const error: unknown = await store.catch((thrown: unknown) => thrown)
  expect(ConfigError.isInstance(error) && error.problems).toHaveLength(3)
})

test('the AWS SDK is only needed for a bucket', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-no-sdk-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const script = `
    const { openStore } = await import(${JSON.stringify(new URL('../../src/store/open-store.ts', import.meta.url).href)})
    const database = ${JSON.stringify(join(folder, 'threads.db'))}
    const store = await openStore({ database, blobs: ${JSON.stringify(join(folder, 'blobs'))} })
    await store.close()
    await openStore({ database, blobs: 's3://bucket' }).catch((error) => console.log(error.name, error.message))
  `
  const hooks = [
    new URL('./processes/resolve-typescript.ts', import.meta.url),
    new URL('./processes/without-aws-sdk.ts', import.meta.url),
  ].flatMap(({ href }) => ['--import', href])
  const output = await new Promise<string>((resolve, reject) => {
    execFile(process.execPath, [...hooks, '--input-type=module', '-e', script], (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
  })
  expect(output.trim()).toMatch(
    /^ConfigError .*got none: run npm install @aws-sdk\/client-s3 @aws-sdk\/lib-storage$/s,
  )
})
