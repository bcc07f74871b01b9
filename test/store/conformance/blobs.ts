import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/protocol/limits.js'
import type { BlobStore } from '../../../src/store/files/blob-store.js'
import type { WithStore } from './with-store.js'

const BYTES = new TextEncoder().encode('some bytes')
const DIGEST = createHash('sha256').update(BYTES).digest('hex')

async function* chunksOf(count: number, bytes: number): AsyncIterable<Uint8Array> {
  for (let n = 0; n < count; n++) yield new Uint8Array(bytes).fill(n)
}

async function collect(stream: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const chunk of stream ?? []) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function listed(blobs: BlobStore): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>()
  for await (const { digest, writtenAt } of blobs.list()) times.set(digest, writtenAt)
  return times
}

export function blobConformance(withStore: WithStore): void {
  test(
    'bytes come back by their digest, whole or streamed',
    withStore(async ({ blobs }) => {
      expect(await blobs.write(BYTES)).toEqual({ digest: DIGEST, size: 10 })
      expect(await blobs.write(BYTES)).toEqual({ digest: DIGEST, size: 10 })
      expect(Buffer.from((await blobs.read(DIGEST)) ?? [])).toEqual(Buffer.from(BYTES))
      expect(await collect(await blobs.stream(DIGEST))).toEqual(Buffer.from(BYTES))
      const { digest, size } = await blobs.write(chunksOf(3, 100_000))
      expect(size).toBe(300_000)
      expect(await collect(await blobs.stream(digest))).toEqual(Buffer.from((await blobs.read(digest)) ?? []))
      expect(await blobs.write(new Uint8Array())).toMatchObject({ size: 0 })
    }),
  )

  test(
    'a digest that is not there gives null',
    withStore(async ({ blobs }) => {
      expect(await blobs.read('0'.repeat(64))).toBeNull()
      expect(await blobs.stream('0'.repeat(64))).toBeNull()
      await expect(blobs.read('../../etc/passwd')).rejects.toThrow('Expected a SHA-256 digest')
      await expect(blobs.stream('../../etc/passwd')).rejects.toThrow('Expected a SHA-256 digest')
    }),
  )

  test(
    'a range gives the bytes from start to end',
    withStore(async ({ blobs }) => {
      const { digest } = await blobs.write(BYTES)
      const part = async (start: number, end: number) =>
        String(await collect(await blobs.stream(digest, { start, end })))
      expect(await part(0, 4)).toBe('some')
      expect(await part(5, 10)).toBe('bytes')
      expect(await part(5, 1000)).toBe('bytes')
      expect(await part(9, 10)).toBe('s')
      expect(await part(3, 3)).toBe('')
      expect(await part(10, 20)).toBe('')
      expect(await part(500, 600)).toBe('')
      expect(await blobs.stream('0'.repeat(64), { start: 0, end: 4 })).toBeNull()
      for (const [start, end] of [
        [4, 3],
        [-1, 3],
        [0, 1.5],
        [0, Infinity],
      ] as const) {
        await expect(blobs.stream(digest, { start, end })).rejects.toThrow('Expected a range of bytes')
      }
      const empty = await blobs.write(new Uint8Array())
      expect(await collect(await blobs.stream(empty.digest, { start: 0, end: 5 }))).toHaveLength(0)
    }),
  )

  test(
    'what was deleted is gone, the rest stays',
    withStore(async ({ blobs }) => {
      const { digest } = await blobs.write(BYTES)
      const other = await blobs.write(chunksOf(1, 10))
      expect(await blobs.delete(digest)).toBe(true)
      expect(await blobs.read(digest)).toBeNull()
      expect(await blobs.stream(digest)).toBeNull()
      expect(await blobs.delete(digest)).toBe(false)
      expect(await blobs.read(other.digest)).toHaveLength(10)
      await blobs.write(BYTES)
      expect(await blobs.read(digest)).toHaveLength(10)
      await expect(blobs.delete('../../etc/passwd')).rejects.toThrow('Expected a SHA-256 digest')
    }),
  )

  test(
    'a delete by age leaves what was written since',
    withStore(async ({ blobs }) => {
      const { digest } = await blobs.write(BYTES)
      expect(await blobs.delete(digest, Date.now() - 3_600_000)).toBe(false)
      expect(await blobs.read(digest)).toHaveLength(10)
      expect(await blobs.delete(digest, Date.now() + 3_600_000)).toBe(true)
    }),
  )

  test(
    'a list names every blob and its time',
    withStore(async ({ blobs }) => {
      expect(await listed(blobs)).toEqual(new Map())
      const written = await Promise.all(
        Array.from({ length: 30 }, (_, n) => blobs.write(new TextEncoder().encode(`blob ${n}`))),
      )
      const list = await listed(blobs)
      expect([...list.keys()].toSorted()).toEqual(written.map(({ digest }) => digest).toSorted())
      for (const time of list.values()) expect(Math.abs(time - Date.now())).toBeLessThan(60_000)
    }),
  )

  test(
    'drafts of the last hours are left alone',
    withStore(async ({ blobs }) => {
      await blobs.write(chunksOf(3, 100_000))
      expect(await blobs.deleteDrafts(Date.now() - 3_600_000)).toBe(0)
      expect((await listed(blobs)).size).toBe(1)
    }),
  )

  test(
    'the same bytes may be written by many at once',
    withStore(async ({ blobs }) => {
      const written = await Promise.all(Array.from({ length: 20 }, () => blobs.write(BYTES)))
      expect(new Set(written.map((blob) => blob.digest))).toEqual(new Set([DIGEST]))
      expect(Buffer.from((await blobs.read(DIGEST)) ?? [])).toEqual(Buffer.from(BYTES))
    }),
  )

  test(
    'a file over 100 MB is refused, also in chunks',
    withStore(async ({ blobs }) => {
      const whole = blobs.write(new Uint8Array(LIMITS.fileBytes + 1))
      await expect(whole).rejects.toMatchObject({ code: 'too_large' })
      const streamed = blobs.write(chunksOf(LIMITS.fileBytes / 1_048_576 + 1, 1_048_576))
      await expect(streamed).rejects.toMatchObject({ code: 'too_large' })
    }),
  )

  test(
    "a sender's own error is not blamed on the disk",
    withStore(async ({ blobs }) => {
      async function* broken(): AsyncIterable<Uint8Array> {
        yield BYTES
        throw Object.assign(new Error('upload broke'), { code: 'ECONNRESET', syscall: 'read' })
      }
      await expect(blobs.write(broken())).rejects.toThrow('upload broke')
      expect(await blobs.read(DIGEST)).toBeNull()
    }),
  )
}
