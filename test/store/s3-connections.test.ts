import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { BlobStore } from '../../src/store/files/blob-store.js'
import { startCuttingProxy } from '../support/cutting-proxy.js'
import type { CuttingProxy } from '../support/cutting-proxy.js'
import { collect, contentOf, megabytes, openBucket, wholeMegabytes } from '../support/s3-blobs.js'
import { makeBucket } from '../support/s3-bucket.js'
import type { TestBucket } from '../support/s3-bucket.js'
import { until } from '../support/until.js'
import { runProcess } from './processes/run-process.js'

const MB = 1_048_576
let bucket: TestBucket
let proxy: CuttingProxy
let blobs: BlobStore

beforeEach(async () => {
  bucket = await makeBucket()
  proxy = await startCuttingProxy(bucket.endpoint)
  blobs = await openBucket(bucket.url('files', proxy.endpoint))
})
afterEach(() => proxy.stop())

test('a download goes on where its connection broke', async () => {
  const bytes = wholeMegabytes(22)
  const { digest } = await blobs.write(bytes)
  for (const read of [() => blobs.read(digest), async () => collect(await blobs.stream(digest))]) {
    const before = proxy.connections()
    proxy.cut('down', 7 * MB, 3)
    expect(Buffer.compare((await read()) ?? Buffer.alloc(0), bytes)).toBe(0)
    expect(proxy.connections() - before).toBeGreaterThanOrEqual(3)
  }
  proxy.cut('down', MB, 2)
  const part = await collect(await blobs.stream(digest, { start: 5 * MB - 1, end: 9 * MB }))
  expect(Buffer.compare(part, bytes.subarray(5 * MB - 1, 9 * MB))).toBe(0)
})

test('a download that stands still for good is reported', async () => {
  const { digest } = await blobs.write(wholeMegabytes(12))
  proxy.stall('down', 5 * MB)
  await expect(blobs.read(digest)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^Expected to use the bucket test-\S+ at http\S+, got .*no answer/),
  })
})

test('a reader gets all bytes, however long it rests', async () => {
  const bytes = wholeMegabytes(12)
  const { digest } = await blobs.write(bytes)
  const chunks: Uint8Array[] = []
  proxy.heal()
  const before = proxy.connections()
  for await (const chunk of (await blobs.stream(digest)) ?? []) {
    if (chunks.length === 0) await until('the idle connection to be ended', () => proxy.open() === 0)
    chunks.push(chunk)
  }
  expect(Buffer.compare(Buffer.concat(chunks), bytes)).toBe(0)
  expect(proxy.connections() - before).toBeGreaterThanOrEqual(2)
})

test('an upload whose connection breaks is whole', async () => {
  proxy.cut('up', 11 * MB, 2)
  const { digest, size } = await blobs.write(megabytes(25).chunks)
  expect(size).toBe(25 * MB)
  expect(Buffer.compare((await blobs.read(digest)) ?? Buffer.alloc(0), wholeMegabytes(25))).toBe(0)
  expect(await contentOf(bucket)).toEqual([expect.stringContaining(digest)])
})

test('an upload that fails for good leaves no parts', async () => {
  proxy.cut('up', 4 * MB)
  for (const data of [megabytes(30).chunks, wholeMegabytes(20)]) {
    await expect(blobs.write(data)).rejects.toMatchObject({ code: 'unavailable' })
  }
  expect(await contentOf(bucket)).toEqual([])
})

test('an upload whose sender fails leaves no parts', async () => {
  async function* broken(): AsyncIterable<Uint8Array> {
    yield* megabytes(20).chunks
    throw Object.assign(new Error('the sender broke'), { name: 'TimeoutError' })
  }
  await expect(blobs.write(broken())).rejects.toThrow('the sender broke')
  expect(await contentOf(bucket)).toEqual([])
})

test('a stream is taken no faster than it is sent', async () => {
  proxy.stall('up', 0)
  const file = megabytes(100)
  await expect(blobs.write(file.chunks)).rejects.toMatchObject({ code: 'unavailable' })
  // What was looked at first, two parts on their way, and one that is being filled.
  expect(file.taken()).toBeLessThanOrEqual(32)
})

test('a process killed in an upload leaves nothing readable', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-upload-'))
  const child = runProcess('upload', { database: join(folder, 'threads.db'), blobs: bucket.url('files') })
  await child.said('in the middle')
  await child.kill()
  expect(await contentOf(bucket)).toEqual([expect.stringMatching(/^unfinished files\/tmp\//)])
  for await (const blob of blobs.list()) expect(blob).toBeUndefined()
  expect(await blobs.deleteDrafts(Date.now() - 3_600_000)).toBe(0)
  expect(await blobs.deleteDrafts(Date.now() + 3_600_000)).toBe(1)
  expect(await contentOf(bucket)).toEqual([])
  await rm(folder, { recursive: true, force: true })
})
