import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { readExceptions } from './addresses.js'
import { checkUrl, EgressError, guardedRequest } from './guarded-request.js'
import type { GuardedRequest, Resolve } from './guarded-request.js'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})

/** The port of a server on 127.0.0.1, and the paths that it was asked for. */
async function serve(answer: RequestListener): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    answer(request, response)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { port: (server.address() as AddressInfo).port, asked }
}

const to =
  (...addresses: readonly string[]): Resolve =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

const RECEIVER = readExceptions(['receiver.test'])

const ask = (url: string, more: Partial<GuardedRequest> = {}) =>
  guardedRequest({
    ...{ url, method: 'POST', body: '{}', timeout: 5_000, answerBytes: 1024 },
    ...{ exceptions: RECEIVER, resolve: to('127.0.0.1') },
    ...more,
  })

/** Why it was refused. */
async function problemOf(asking: Promise<unknown>): Promise<string> {
  const error = await asking.then(
    () => null,
    (failure: unknown) => failure,
  )
  if (!(error instanceof EgressError)) throw new Error(`Expected an EgressError, got ${String(error)}`)
  return error.code
}

test.each([
  ...['http://example.org/', 'ftp://example.org/', 'file:///etc/passwd', 'javascript:1', 'example.org', ''],
  ...[
    'https://user@example.org/',
    'https://user:word@example.org/',
    `https://example.org/${'x'.repeat(2000)}`,
  ],
])('the URL %j is refused', (url) => {
  expect(() => checkUrl(url)).toThrow(expect.objectContaining({ code: 'url' }))
})

test.each([
  ...[
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0177.0.0.1/',
    'https://127.1/',
  ],
  ...['https://[::1]/', 'https://[::ffff:127.0.0.1]/', 'https://[::ffff:7f00:1]/', 'https://[fd00::1]/'],
  ...['https://169.254.169.254/latest/meta-data', 'https://[64:ff9b::a00:1]/', 'https://0/'],
])('the address in %s is refused in whatever form it is written', (url) => {
  expect(() => checkUrl(url)).toThrow(expect.objectContaining({ code: 'address' }))
})

test('a name with an address of a private network is refused, also beside a public one', async () => {
  for (const addresses of [['10.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:192.168.0.1'], ['fe80::1']])
    expect(await problemOf(ask('https://example.org/', { resolve: to(...addresses) }))).toBe('address')
  expect(await problemOf(ask('https://localhost/', { resolve: to('127.0.0.1', '::1') }))).toBe('address')
})

test('the connection goes to the address that was checked, whatever the name says next', async () => {
  const { port, asked } = await serve((_request, response) => response.end('inner'))
  const answers = [['127.0.0.1'], ['10.255.255.1']]
  let looks = 0
  const resolve: Resolve = (name) => to(...(answers[Math.min(looks++, 1)] ?? []))(name)
  const networks = readExceptions(['127.0.0.1', 'other.test'])
  const answer = await ask(`http://other.test:${port}/once`, { resolve, exceptions: networks })
  expect([answer.status, looks, asked]).toEqual([200, 1, ['/once']])
})

test('a redirect is an answer, and is not followed', async () => {
  const inner = await serve((_request, response) => response.end('secret'))
  const outer = await serve((_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/secret` }).end()
  })
  const { status, body } = await ask(`http://receiver.test:${outer.port}/`)
  expect([status, body.toString(), inner.asked]).toEqual([302, '', []])
})

test('of an answer of 100 MB no more is read than was asked for', async () => {
  let sent = 0
  const { port } = await serve((_request, response) => {
    const part = Buffer.alloc(1024 * 1024, 'x')
    const more = (): void => {
      while (sent < 100 && !response.destroyed) {
        sent += 1
        if (!response.write(part)) return void response.once('drain', more)
      }
      response.end()
    }
    more()
  })
  const { status, body, truncated } = await ask(`http://receiver.test:${port}/`, { answerBytes: 1000 })
  expect([status, body.length, truncated]).toEqual([200, 1000, true])
  expect(sent).toBeLessThan(50)
})

test('an answer that is slow, or comes byte by byte, is given up in time', async () => {
  const silent = await serve(() => undefined)
  const dripping = await serve((_request, response) => {
    const timer = setInterval(() => response.write('x'), 20)
    response.on('close', () => clearInterval(timer))
  })
  for (const { port } of [silent, dripping]) {
    const began = performance.now()
    expect(await problemOf(ask(`http://receiver.test:${port}/`, { timeout: 200 }))).toBe('timeout')
    expect(performance.now() - began).toBeLessThan(30_000)
  }
  const never: Resolve = () => new Promise(() => undefined)
  expect(await problemOf(ask('https://example.org/', { timeout: 50, resolve: never }))).toBe('timeout')
})

test('nobody who listens, nobody of that name, and an answer that breaks off have a code each', async () => {
  const { port } = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('half')
    setTimeout(() => response.destroy(), 20)
  })
  expect(await problemOf(ask(`http://receiver.test:${port}/`))).toBe('connection')
  expect(await problemOf(ask('http://receiver.test:1/'))).toBe('refused')
  expect(await problemOf(ask('https://nobody.test/', { resolve: to() }))).toBe('unresolved')
  const failing: Resolve = () => Promise.reject(new Error('ENOTFOUND nobody.test'))
  expect(await problemOf(ask('https://nobody.test/', { resolve: failing }))).toBe('unresolved')
})

test('the caller ends a request with a reason of its own', async () => {
  const { port } = await serve(() => undefined)
  const end = new AbortController()
  const asking = ask(`http://receiver.test:${port}/`, { signal: end.signal })
  setTimeout(() => end.abort(new Error('the server closes')), 50)
  await expect(asking).rejects.toThrow('the server closes')
})

test('a receiver that wants another protocol ends the request', async () => {
  const { port } = await serve((request) => {
    request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n')
  })
  const url = `http://receiver.test:${port}/`
  expect(await problemOf(ask(url, { timeout: 3_000 }))).toBe('connection')
})
