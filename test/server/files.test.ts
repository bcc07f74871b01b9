import { createHash } from 'node:crypto'

import { beforeEach, describe, expect, test } from 'vitest'

import { LIMITS } from '../../src/protocol/limits.js'
import { createThreadApp } from '../../src/server/index.js'
import type { RequestEntry } from '../../src/server/index.js'
import { OPERATOR, codeOf, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { call, raw, fixture } = server

let path: string

beforeEach(async () => {
  path = `/threads/${await server.thread()}/files`
})

function content(file: string): string {
  return `${path}/content?path=${encodeURIComponent(file)}`
}

describe('a file', () => {
  test('is uploaded, listed, downloaded and removed', async () => {
    const headers = { 'content-type': 'text/markdown' }
    const put = await call(content('/notes/plan.md'), { method: 'PUT', body: '# Plän', headers })
    expect([put.status, put.body]).toMatchObject([
      200,
      { path: '/notes/plan.md', mimeType: 'text/markdown', size: 7, isDirectory: false },
    ])
    expect((await call(path)).body.entries).toMatchObject([{ path: '/notes', isDirectory: true }])
    expect((await call(`${path}?path=/notes`)).body.entries).toMatchObject([{ path: '/notes/plan.md' }])
    const got = await call(content('/notes/plan.md'))
    expect([got.status, got.body, got.headers.get('content-length')]).toEqual([200, '# Plän', '7'])
    for (let time = 0; time < 2; time += 1)
      expect((await call(content('/notes/plan.md'), { method: 'DELETE' })).status).toBe(204)
    expect(codeOf(await call(content('/notes/plan.md')))).toEqual([404, 'file_not_found'])
  })

  test('of many megabytes streams in and out, whole', async () => {
    const piece = new Uint8Array(1024 * 1024).map((_, index) => index % 251)
    const pieces = 20
    const body = ReadableStream.from(Array.from({ length: pieces }, () => piece))
    expect((await call(content('/big'), { method: 'PUT', body })).body).toMatchObject({
      size: pieces * piece.length,
    })
    const sent = createHash('sha256')
    for (let index = 0; index < pieces; index += 1) sent.update(piece)
    const got = createHash('sha256')
    const response = await raw(content('/big'))
    for await (const chunk of response.body ?? []) got.update(chunk)
    expect(got.digest('hex')).toBe(sent.digest('hex'))
  })

  test('above the limit is 413, whether it says its length or not', async () => {
    const headers = { 'content-length': String(LIMITS.fileBytes + 1) }
    expect(codeOf(await call(content('/big'), { method: 'PUT', body: 'x', headers }))).toEqual([
      413,
      'too_large',
    ])
    const piece = new Uint8Array(10 * 1024 * 1024)
    const body = ReadableStream.from(Array.from({ length: 11 }, () => piece))
    expect(codeOf(await call(content('/big'), { method: 'PUT', body }))).toEqual([413, 'too_large'])
    expect(codeOf(await call(content('/big')))).toEqual([404, 'file_not_found'])
  })

  test.each([
    ['../secret', 400, 'file_invalid_path'],
    ['/a/../b', 400, 'file_invalid_path'],
    ['relative', 400, 'file_invalid_path'],
    ['/notes', 409, 'file_is_folder'],
    ['/notes/a/b', 409, 'file_not_a_folder'],
  ])('is not written to %s', async (file, status, code) => {
    await call(content('/notes/a'), { method: 'PUT', body: 'x' })
    expect(codeOf(await call(content(file), { method: 'PUT', body: 'x' }))).toEqual([status, code])
  })

  test('of a terminated thread is read and not written', async () => {
    await call(content('/a'), { method: 'PUT', body: 'x' })
    await fixture.threads.get(path.split('/')[2] ?? '').terminate()
    expect((await call(content('/a'))).body).toBe('x')
    expect(codeOf(await call(content('/a'), { method: 'PUT', body: 'y' }))).toEqual([
      409,
      'thread_terminated',
    ])
    expect(codeOf(await call(content('/a'), { method: 'DELETE' }))).toEqual([409, 'thread_terminated'])
  })

  test('that is none, or a folder, is said to be so', async () => {
    await call(content('/notes/a'), { method: 'PUT', body: 'x' })
    expect(codeOf(await call(content('/none')))).toEqual([404, 'file_not_found'])
    expect(codeOf(await call(content('/notes')))).toEqual([409, 'file_is_folder'])
    expect(codeOf(await call(`${path}?path=/none`))).toEqual([404, 'file_not_found'])
    expect(codeOf(await call(content('/notes'), { method: 'DELETE' }))).toEqual([409, 'file_is_folder'])
  })
})

describe('a file whose bytes are lost', () => {
  const lost = (broken: () => AsyncIterable<Uint8Array>) => {
    const { threads } = fixture
    const get = threads.get.bind(threads)
    const logged: RequestEntry[] = []
    const client = Object.assign(threads, {
      get: (id: string) =>
        Object.assign(get(id), {
          async readFileStream(file: string) {
            const record = await get(id).statFile(file)
            const data = broken()
            return record?.size === 4 ? null : { file: record, start: 0, end: record?.size, data }
          },
        }),
    })
    const app = createThreadApp({ client, tokens: [{ token: OPERATOR }], log: (entry) => logged.push(entry) })
    const headers = { authorization: `Bearer ${OPERATOR}`, 'x-request-id': 'download-1' }
    return { logged, ask: (file: string) => app.request(content(file), { headers }) }
  }

  test('is no folder: it is a failure of ours, and logged', async () => {
    await call(content('/lost'), { method: 'PUT', body: 'lost' })
    const { ask, logged } = lost(async function* () {})
    const response = await ask('/lost')
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ error: { code: 'file_lost' } })
    expect(logged).toMatchObject([{ level: 'error', error: { code: 'file_lost' } }])
  })

  test('is logged when it breaks off, by the id of its request', async () => {
    await call(content('/broken'), { method: 'PUT', body: 'broken' })
    const { ask, logged } = lost(async function* () {
      yield new TextEncoder().encode('bro')
      throw new Error('the bucket is away')
    })
    const response = await ask('/broken')
    // Without the original text, because Node's server prints this error.
    await expect(response.text()).rejects.toThrow('An answer broke off')
    expect(logged).toMatchObject([
      { status: 200 },
      { status: 500, requestId: 'download-1', error: { name: 'Error' } },
    ])
  })
})

describe('a range', () => {
  beforeEach(async () => {
    await call(content('/ten'), { method: 'PUT', body: '0123456789' })
  })

  test.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-99', '0123456789', 'bytes 0-9/10'],
    ['bytes=8-99', '89', 'bytes 8-9/10'],
    ['bytes=0-0', '0', 'bytes 0-0/10'],
  ])('%s is answered with that part', async (range, text, has) => {
    const got = await call(content('/ten'), { headers: { range } })
    expect([got.status, got.body, got.headers.get('content-range')]).toEqual([206, text, has])
    expect(got.headers.get('content-length')).toBe(String(text.length))
  })

  test.each(['bytes=10-', 'bytes=99-100', 'bytes=-0'])('%s, behind the end, is 416', async (range) => {
    const got = await call(content('/ten'), { headers: { range } })
    expect(codeOf(got)).toEqual([416, 'range_not_satisfiable'])
    expect(got.headers.get('content-range')).toBe('bytes */10')
  })

  test.each(['bytes=3-1', 'bytes=0-1,4-5', 'lines=0-1', 'bytes=-', 'bytes=a-b', ''])(
    '%j, which is none, is answered with the whole file',
    async (range) => {
      const got = await call(content('/ten'), { headers: { range } })
      expect([got.status, got.body]).toEqual([200, '0123456789'])
    },
  )

  test('of another version of the file comes as the whole new one', async () => {
    const etag = (await call(content('/ten'))).headers.get('etag') ?? ''
    const headers = { range: 'bytes=0-3', 'if-range': etag }
    expect((await call(content('/ten'), { headers })).status).toBe(206)
    await call(content('/ten'), { method: 'PUT', body: 'abcdefghij' })
    const got = await call(content('/ten'), { headers })
    expect([got.status, got.body]).toEqual([200, 'abcdefghij'])
  })

  test('of an empty file is 416', async () => {
    await call(content('/empty'), { method: 'PUT', body: '' })
    expect((await call(content('/empty'))).status).toBe(200)
    expect((await call(content('/empty'), { headers: { range: 'bytes=0-' } })).status).toBe(416)
  })
})

describe('a download', () => {
  test('of HTML runs nothing in the origin', async () => {
    await call(content('/page.html'), {
      method: 'PUT',
      body: '<script>alert(1)</script>',
      headers: { 'content-type': 'text/html' },
    })
    const { headers } = await call(content('/page.html'))
    expect(headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''page.html")
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  test.each([
    ['a type with line breaks', 'text/html\r\nX-Evil: 1'],
    ['a type that is none', 'evil'],
    ['a type beyond ASCII', 'text/ü'],
  ])('of %s comes as bytes', async (_what, mimeType) => {
    await fixture.threads.get(path.split('/')[2] ?? '').writeFile('/odd', 'x', mimeType)
    const { status, headers } = await call(content('/odd'))
    expect([status, headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
    expect(headers.get('x-evil')).toBeNull()
  })

  test('names any file in plain ASCII', async () => {
    await call(content('/Übersicht "2026"; (neu).txt'), { method: 'PUT', body: 'x' })
    const { headers } = await call(content('/Übersicht "2026"; (neu).txt'))
    expect(headers.get('content-disposition')).toBe(
      "attachment; filename*=UTF-8''%C3%9Cbersicht%20%222026%22%3B%20%28neu%29.txt",
    )
  })
})
