import { createHash } from 'node:crypto'

import { expect, test } from 'vitest'

import { LIMITS } from '../../../src/protocol/limits.js'
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
