import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, stat, truncate, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CreateMultipartUploadCommand } from '@aws-sdk/client-s3'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { BlobStore } from '../../src/store/files/blob-store.js'
import { startAnsweringProxy } from '../support/answering-proxy.js'
import type { OwnAnswer } from '../support/answering-proxy.js'
import { collect, contentOf, megabytes, openBucket, wholeMegabytes } from '../support/s3-blobs.js'
import { makeBucket } from '../support/s3-bucket.js'
import type { TestBucket } from '../support/s3-bucket.js'

const HOUR = 3_600_000
const BYTES = new TextEncoder().encode('some bytes')
const DIGEST = createHash('sha256').update(BYTES).digest('hex')
const keyOf = (digest: string) => `files/${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`
let bucket: TestBucket
let blobs: BlobStore
const fileOf = (digest: string) => join(bucket.folder, keyOf(digest))

beforeEach(async () => {
  bucket = await makeBucket()
  blobs = await openBucket(bucket.url('files'))
})

/** The blobs behind a proxy that answers some requests by itself. */
async function openBehind(answer: (method: string, headers: object) => OwnAnswer): Promise<BlobStore> {
  const proxy = await startAnsweringProxy(bucket.endpoint, ({ method, headers }) =>
    answer(method ?? '', headers),
  )
  onTestFinished(() => proxy.stop())
  return openBucket(bucket.url('files', proxy.endpoint))
}

test('a damaged object is noticed, whole and streamed', async () => {
  await blobs.write(BYTES)
  const { digest } = await blobs.write(megabytes(20).chunks)
  await writeFile(fileOf(DIGEST), 'same bytes')
  await truncate(fileOf(digest), 19_000_000)
  for (const damaged of [DIGEST, digest]) {
    await expect(blobs.read(damaged)).rejects.toMatchObject({ code: 'corrupt' })
    await expect(blobs.stream(damaged).then(collect)).rejects.toMatchObject({
      code: 'corrupt',
      message: `The bytes of blob ${damaged} are not those written; restore it from a backup`,
    })
  }
})

test('no part of a damaged object is given out', async () => {
  await blobs.write(BYTES)
  const { digest, size } = await blobs.write(megabytes(20).chunks)
  await writeFile(fileOf(DIGEST), 'same bytes')
  await truncate(fileOf(digest), 19_000_000)
  const corrupt = { code: 'corrupt' }
  await expect(blobs.stream(DIGEST, { start: 0, end: 2 })).rejects.toMatchObject(corrupt)
  await expect(blobs.stream(digest, { start: 0, end: 2, size })).rejects.toMatchObject(corrupt)
  await blobs.write(BYTES)
  expect(String(await collect(await blobs.stream(DIGEST, { start: 0, end: 4 })))).toBe('some')
})

test('bytes written again, whole or in chunks, repair a damaged object', async () => {
  const large = await blobs.write(megabytes(9).chunks)
  const original = Buffer.from((await blobs.read(large.digest)) ?? [])
  await blobs.write(BYTES)
  await writeFile(fileOf(DIGEST), 'same bytes')
  await blobs.write(BYTES)
  expect(String(await blobs.read(DIGEST))).toBe('some bytes')
  for (const again of [() => megabytes(9).chunks, () => wholeMegabytes(9)]) {
    await writeFile(fileOf(large.digest), Buffer.from(original).fill(0, 0, 10))
    await blobs.write(again())
    expect(Buffer.compare((await blobs.read(large.digest)) ?? Buffer.alloc(0), original)).toBe(0)
  }
})

test('large bytes written by many at once are one object', async () => {
  const written = await Promise.all([
    blobs.write(megabytes(21).chunks),
    blobs.write(wholeMegabytes(21)),
    blobs.write(megabytes(21).chunks),
    blobs.write(wholeMegabytes(21)),
  ])
  const digest = createHash('sha256').update(wholeMegabytes(21)).digest('hex')
  for (const blob of written) expect(blob).toEqual({ digest, size: 21 * 1_048_576 })
  expect(await contentOf(bucket)).toEqual([keyOf(digest)])
  expect(Buffer.compare((await blobs.read(digest)) ?? Buffer.alloc(0), wholeMegabytes(21))).toBe(0)
})

test('bytes of a buffer that is filled again are kept', async () => {
  const buffer = new Uint8Array(1_048_576)
  async function* refilled(): AsyncIterable<Uint8Array> {
    for (let n = 1; n <= 20; n++) yield buffer.fill(n)
  }
  const { digest } = await blobs.write(refilled())
  expect(Buffer.compare((await blobs.read(digest)) ?? Buffer.alloc(0), wholeMegabytes(20))).toBe(0)
})

test('the same bytes are uploaded once within the hour', async () => {
  const puts: string[] = []
  const watched = await openBehind((method) => {
    if (method === 'PUT' || method === 'POST') puts.push(method)
    return undefined
  })
  await watched.write(BYTES)
  await watched.write(wholeMegabytes(9))
  const first = puts.length
  await watched.write(BYTES)
  await watched.write(wholeMegabytes(9))
  expect(first).toBeGreaterThanOrEqual(2)
  expect(puts).toHaveLength(first)
})

test('old bytes written again are as young as new ones', async () => {
  const large = await blobs.write(megabytes(9).chunks)
  await blobs.write(BYTES)
  for (const [digest, again] of [
    [DIGEST, () => blobs.write(BYTES)],
    [large.digest, () => blobs.write(megabytes(9).chunks)],
    [large.digest, () => blobs.write(wholeMegabytes(9))],
  ] as const) {
    const yesterday = new Date(Date.now() - 24 * HOUR)
    await utimes(fileOf(digest), yesterday, yesterday)
    await again()
    expect(await blobs.delete(digest, Date.now() - 2 * HOUR)).toBe(false)
    expect((await stat(fileOf(digest))).size).toBeGreaterThan(0)
  }
  expect(await contentOf(bucket)).toHaveLength(2)
})

test('an object of another size is written anew', async () => {
  await blobs.write(BYTES)
  await truncate(fileOf(DIGEST), 3)
  await blobs.write(BYTES)
  expect(String(await blobs.read(DIGEST))).toBe('some bytes')
})

test('a list goes through thousands of blobs by pages', async () => {
  const digests = Array.from({ length: 2_050 }, () => randomBytes(32).toString('hex'))
  for (const digest of digests) {
    await mkdir(dirname(fileOf(digest)), { recursive: true })
    await writeFile(fileOf(digest), '')
  }
  await mkdir(join(bucket.folder, 'files/notes'), { recursive: true })
  await writeFile(join(bucket.folder, 'files/notes/mine.txt'), '')
  await writeFile(join(bucket.folder, 'other-program'), '')
  const listed: string[] = []
  for await (const { digest } of blobs.list()) listed.push(digest)
  expect(listed.toSorted()).toEqual(digests.toSorted())
})

test('old drafts are deleted, and nothing else', async () => {
  await blobs.write(BYTES)
  await mkdir(join(bucket.folder, 'files/tmp'), { recursive: true })
  const draft = join(bucket.folder, `files/tmp/${randomUUID()}`)
  await writeFile(draft, 'half')
  const yesterday = new Date(Date.now() - 24 * HOUR)
  await utimes(draft, yesterday, yesterday)
  expect(await blobs.deleteDrafts(Date.now() - 48 * HOUR)).toBe(0)
  expect(await blobs.deleteDrafts(Date.now() - HOUR)).toBe(1)
  expect(await contentOf(bucket)).toEqual([keyOf(DIGEST)])
})

test("another program's old objects and uploads are left alone", async () => {
  const root = await openBucket(bucket.url())
  const foreign = ['tmp/report.pdf', `tmp/mine/${randomUUID()}`]
  const old = [...foreign, `tmp/${randomUUID()}`]
  const yesterday = new Date(Date.now() - 24 * HOUR)
  for (const key of old) {
    await mkdir(dirname(join(bucket.folder, key)), { recursive: true })
    await writeFile(join(bucket.folder, key), 'old')
    await utimes(join(bucket.folder, key), yesterday, yesterday)
  }
  const uploads = ['video.mp4', keyOf(DIGEST).slice('files/'.length)]
  for (const Key of uploads)
    await bucket.client.send(new CreateMultipartUploadCommand({ Bucket: bucket.name, Key }))
  expect(await root.deleteDrafts(Date.now() + HOUR)).toBe(2)
  expect(await contentOf(bucket)).toEqual([...foreign.toSorted(), 'unfinished video.mp4'])
})

test('whoever was quicker with the same bytes has written them', async () => {
  // The object appears between our look and our write.
  const late = await openBehind((method) => (method === 'HEAD' ? [404, 'NotFound'] : undefined))
  await blobs.write(BYTES)
  const before = await stat(fileOf(DIGEST))
  expect(await late.write(BYTES)).toEqual({ digest: DIGEST, size: 10 })
  expect((await stat(fileOf(DIGEST))).ino).toBe(before.ino)
})

test.each([
  [409, 'ConditionalRequestConflict'],
  [501, 'NotImplemented'],
] as const)('a conditional write that gets %d %s is written all the same', async (status, code) => {
  let refused = 0
  const other = await openBehind((method, headers) => {
    if (method !== 'PUT' || !('if-none-match' in headers)) return undefined
    refused += 1
    return [status, code]
  })
  await other.write(BYTES)
  expect(refused).toBe(1)
  expect(String(await readFile(fileOf(DIGEST)))).toBe('some bytes')
})

test('a blob in the root of a bucket has its digest as key', async () => {
  const root = await openBucket(bucket.url())
  await root.write(BYTES)
  expect(await contentOf(bucket)).toEqual([keyOf(DIGEST).slice('files/'.length)])
  for await (const { digest } of root.list()) expect(digest).toBe(DIGEST)
  expect(await readdir(bucket.folder)).toContain(DIGEST.slice(0, 2))
})
