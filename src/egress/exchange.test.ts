import type { ServerResponse } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { servicesOfTests } from '../../test/support/http-service.js'
import { readExceptions } from './addresses.js'
import { exchange } from './exchange.js'
import type { Exchange } from './exchange.js'
import { EgressError } from './guarded-request.js'

const serve = servicesOfTests()

type Answer = NonNullable<Parameters<typeof serve>[0]>

const OWN = readExceptions(['127.0.0.1', 'first.test', 'second.test'])

/** Every name is this machine. */
const here: NonNullable<Exchange['resolve']> = async () => [{ address: '127.0.0.1', family: 4 }]

const ask = (url: string, more: Partial<Exchange> = {}) =>
  exchange({
    url,
    method: 'GET',
    timeout: 5_000,
    answerBytes: 10_000,
    exceptions: OWN,
    resolve: here,
    ...more,
  })

async function problemOf(asking: Promise<unknown>): Promise<EgressError> {
  const error: unknown = await asking.catch((failure: unknown) => failure)
  if (!(error instanceof EgressError)) throw new Error(`Expected an EgressError, got ${String(error)}`)
  return error
}

const redirect = (response: ServerResponse, status: number, location: string): void =>
  void response.writeHead(status, { location }).end()

/** Answers `/from` with a redirect to `/to`. */
const leading =
  (status: number, location = '/to'): Answer =>
  ({ url }, response) =>
    url.startsWith('/from') ? redirect(response, status, location) : void response.end('there')

describe('redirects', () => {
  test.each([
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [302, 'PUT', 'PUT', 'b'],
    [307, 'POST', 'POST', 'b'],
    [308, 'PATCH', 'PATCH', 'b'],
  ] as const)('%i of a %s becomes a %s', async (status, method, next, body) => {
    const { url, asked } = await serve(leading(status))
    const headers = { 'content-type': 'text/plain', 'x-own': 'y' }
    const answer = await ask(`${url}/from`, { method, body: 'b', headers })
    expect(answer.body.toString()).toBe('there')
    expect(answer.url.pathname).toBe('/to')
    expect(asked[1]).toMatchObject({ method: next, body, headers: { 'x-own': 'y' } })
    expect('content-type' in (asked[1]?.headers ?? {})).toBe(body !== '')
  })

  test('what is secret goes to the first origin only', async () => {
    const other = await serve((_asked, response) => void response.end('other'))
    const { url, asked } = await serve(({ url: path }, response) =>
      path === '/from' ? redirect(response, 302, '/again') : redirect(response, 302, `${other.url}/far`),
    )
    await ask(`${url}/from`, { secretHeaders: { authorization: 'Bearer s3cret' } })
    expect(asked.map(({ headers }) => headers.authorization)).toEqual(['Bearer s3cret', 'Bearer s3cret'])
    expect(other.asked.map(({ headers }) => headers.authorization)).toEqual([undefined])
  })

  test('another host is asked only where it is allowed', async () => {
    const { port, asked } = await serve((_asked, response) =>
      response.req.headers.host?.startsWith('first') === true
        ? redirect(response, 302, `http://second.test:${port}/to`)
        : void response.end('there'),
    )
    const from = `http://first.test:${port}/from`
    expect(await problemOf(ask(from))).toMatchObject({
      code: 'redirect',
      message: expect.stringContaining(`got "second.test:${port}"`) as string,
    })
    expect(asked).toHaveLength(1)
    expect((await ask(from, { redirectHosts: ['SECOND.test'] })).body.toString()).toBe('there')
  })

  test.each([
    ['https://169.254.169.254/latest/meta-data', 'address'],
    ['https://[::1]/', 'address'],
    ['https://0x7f.1/', 'address'],
    // Its name stands for this machine.
    ['https://inside.test/', 'address'],
    ['http://10.0.0.1/', 'url'],
    ['file:///etc/passwd', 'url'],
    ['ftp://first.test/', 'url'],
    ['http://user:word@first.test/', 'url'],
    ['http://[', 'redirect'],
  ])('one to %s is refused', async (location, code) => {
    const { port, asked } = await serve(leading(302, location))
    const hosts = [URL.parse(location)?.hostname ?? 'x']
    const problem = await problemOf(
      // An operator has allowed a name, and no network.
      ask(`http://first.test:${port}/from`, {
        ...{ redirectHosts: hosts, exceptions: readExceptions(['first.test']) },
      }),
    )
    expect(problem.code).toBe(code)
    expect(asked).toHaveLength(1)
  })

  test('five are followed, and not one more', async () => {
    const { url, asked } = await serve(({ url: path }, response) => {
      const left = Number(path.slice(1))
      if (left === 0) response.end('there')
      else redirect(response, 302, `/${left - 1}`)
    })
    expect((await ask(`${url}/5`)).body.toString()).toBe('there')
    expect((await problemOf(ask(`${url}/6`))).code).toBe('redirect')
    expect(asked).toHaveLength(12)
  })

  test('the time is for all of them', async () => {
    const { url } = await serve(
      (_asked, response) => void setTimeout(() => redirect(response, 302, '/x'), 60),
    )
    expect((await problemOf(ask(url, { timeout: 150 }))).code).toBe('timeout')
  })
})

describe('compressed answers', () => {
  const packed =
    (coding: string, body: Buffer): Answer =>
    (_asked, response) =>
      void response.writeHead(200, { 'content-encoding': coding }).end(body)

  test.each([
    ['gzip', gzipSync('text')],
    ['deflate', deflateSync('text')],
    ['br', brotliCompressSync('text')],
    ['identity', Buffer.from('text')],
    ['deflate, gzip', gzipSync(deflateSync('text'))],
  ])('%s is unpacked', async (coding, body) => {
    const { url } = await serve(packed(coding, body))
    expect(await ask(url)).toMatchObject({ status: 200, truncated: false, body: Buffer.from('text') })
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(50_000_000))],
    ['br', brotliCompressSync(Buffer.alloc(50_000_000))],
    ['gzip, gzip', gzipSync(gzipSync(Buffer.alloc(50_000_000)))],
  ])('a bomb in %s ends at the bound', async (coding, body) => {
    const { url } = await serve(packed(coding, body))
    const before = process.memoryUsage().rss
    const answer = await ask(url, { answerBytes: 100_000 })
    expect(answer).toMatchObject({ truncated: true, body: Buffer.alloc(0) })
    expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000)
  })

  test.each([
    ['gzip', Buffer.from('no gzip at all')],
    ['gzip', gzipSync('text').subarray(0, 15)],
    ['zstd', Buffer.from('text')],
    ['constructor', Buffer.from('text')],
    ['gzip, gzip, gzip', gzipSync('text')],
  ])('%s that cannot be unpacked is refused', async (coding, body) => {
    const { url } = await serve(packed(coding, body))
    expect((await problemOf(ask(url))).code).toBe('answer')
  })
})

test('an answer is as long as it may be, whatever it says of its length', async () => {
  const long = await serve((_asked, response) => void response.end('x'.repeat(20_000)))
  expect(await ask(long.url)).toMatchObject({ truncated: true, body: Buffer.from('x'.repeat(10_000)) })
  const short = await serve((_asked, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('only this')
    setTimeout(() => response.destroy(), 20)
  })
  expect((await problemOf(ask(short.url))).code).toBe('connection')
})

test('nothing that listens is another failure than a connection that breaks', async () => {
  const service = await serve((_asked, response) => void response.destroy())
  expect((await problemOf(ask(service.url))).code).toBe('connection')
  await service.close()
  expect((await problemOf(ask(service.url))).code).toBe('refused')
})
