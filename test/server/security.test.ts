import { describe, expect, test, vi } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import { ConfigError, TemporalUnavailableError } from '../../src/protocol/errors.js'
import { createThreadApp } from '../../src/server/index.js'
import type { ThreadAppOptions } from '../../src/server/index.js'
import { StoreError } from '../../src/store/store-error.js'
import { ACME, codeOf, OPERATOR, serverFixture } from './server-fixture.js'
import type { Answer } from './server-fixture.js'

const server = serverFixture()
const { call, logged, fixture } = server

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

describe('a token', () => {
  test.each([
    ['none', undefined],
    ['another one', 'Bearer another-token-of-nobody'],
    ['a part of one', `Bearer ${OPERATOR.slice(0, -1)}`],
    ['one with more behind it', `Bearer ${OPERATOR}x`],
    ['two', `Bearer ${OPERATOR}, Bearer ${ACME}`],
    ['another scheme', `Basic ${OPERATOR}`],
  ])('that is %s is 401', async (_what, authorization) => {
    const headers = authorization === undefined ? {} : { authorization }
    const answer = await call('/threads', { token: '', headers })
    expect(codeOf(answer)).toEqual([401, 'unauthorized'])
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  test.each([
    ['short ones', { tokens: [{ token: 'short' }] }, '16 characters'],
    ['ones that no header carries', { tokens: [{ token: 'words with spaces in them' }] }, 'tokens[0].token'],
    ['an empty account', { tokens: [{ token: OPERATOR, account: '' }] }, 'tokens[0].account'],
    ['the same twice', { tokens: [{ token: OPERATOR }, { token: OPERATOR, account: 'a' }] }, 'got one twice'],
    ['an empty list', { tokens: [] }, 'got none'],
    ['nothing', {}, 'got both or neither'],
    ['both ways', { tokens: [{ token: OPERATOR }], authenticate: async () => null }, 'got both or neither'],
  ] satisfies readonly [string, Partial<ThreadAppOptions>, string][])(
    'list of %s is refused before anything starts',
    (_what, given, words) => {
      expect(() => createThreadApp({ client: new ThreadClient(), ...given })).toThrow(words)
    },
  )
})

describe('a rule of your own', () => {
  test('says who calls, and whose threads those are', async () => {
    const threadId = await server.thread('acme')
    const app = createThreadApp({
      client: fixture.threads,
      authenticate: async (request) => {
        const account = request.headers.get('x-account')
        return account === null ? null : { account }
      },
    })
    const statusFor = async (headers: Record<string, string>) =>
      (await app.request(`/threads/${threadId}`, { headers })).status
    expect(await statusFor({})).toBe(401)
    expect(await statusFor({ 'x-account': 'acme' })).toBe(200)
    expect(await statusFor({ 'x-account': 'globex' })).toBe(404)
  })

  test.each([{ account: undefined }, { account: '' }, {}])(
    'that answers %j lets nobody in as an operator',
    async (answer) => {
      const app = createThreadApp({
        client: fixture.threads,
        authenticate: async () => answer as { account: null },
        log: () => undefined,
      })
      expect((await app.request('/threads')).status).toBe(500)
    },
  )
})

describe('a rate', () => {
  test('above the limit is 429, for that token alone, and says when to come back', async () => {
    const app = createThreadApp({
      client: fixture.threads,
      tokens: [{ token: OPERATOR }, { token: ACME, account: 'acme' }],
      rateLimit: { requests: 2, seconds: 60 },
    })
    const ask = (token: string) => app.request('/threads', { headers: { authorization: `Bearer ${token}` } })
    const statuses = []
    for (let time = 0; time < 3; time += 1) statuses.push((await ask(ACME)).status)
    expect(statuses).toEqual([200, 200, 429])
    const refused = await ask(ACME)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limited' } })
    expect((await ask(OPERATOR)).status).toBe(200)
    for (let time = 0; time < 5; time += 1) expect((await app.request('/health')).status).toBe(200)
  })

  test('that is no rate is refused before anything starts', () => {
    const rateLimit = { requests: 0, seconds: 1 }
    expect(() =>
      createThreadApp({ client: new ThreadClient(), tokens: [{ token: OPERATOR }], rateLimit }),
    ).toThrow('Expected "rateLimit"')
  })
})

describe('a body', () => {
  test('above the limit of its route is 413', async () => {
    const threadId = await server.thread()
    const long = (bytes: number) => ({ method: 'POST', body: { reason: 'x'.repeat(bytes) } })
    expect(codeOf(await call(`/threads/${threadId}/terminate`, long(20_000)))).toEqual([413, 'too_large'])
    expect(codeOf(await call(`/threads/${threadId}/messages`, long(20_000)))).toEqual([400, 'bad_request'])
    expect(codeOf(await call(`/threads/${threadId}/messages`, long(5_000_000)))).toEqual([413, 'too_large'])
  })

  test('that is no JSON is 400', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(codeOf(await call('/threads', { body: '{', method: 'POST', headers }))).toEqual([
      400,
      'bad_request',
    ])
  })

  test('of another type is 415', async () => {
    const headers = { 'content-type': 'text/plain' }
    expect(codeOf(await call('/threads', { body: '{"agent":"a"}', method: 'POST', headers }))).toEqual([
      415,
      'unsupported_media_type',
    ])
  })
})

describe('a request', () => {
  test('has an id, its own or a new one, in its answer and in the log', async () => {
    const own = await call('/threads/nobody', { headers: { 'x-request-id': 'ticket:17' } })
    expect([own.headers.get('x-request-id'), own.body.error.requestId]).toEqual(['ticket:17', 'ticket:17'])
    expect(logged.at(-1)).toMatchObject({
      requestId: 'ticket:17',
      level: 'info',
      method: 'GET',
      route: '/threads/:threadId',
      threadId: 'nobody',
      status: 404,
    })
    for (const id of ['', 'two words', 'x'.repeat(129)])
      expect(
        (await call('/threads/nobody', { headers: { 'x-request-id': id } })).headers.get('x-request-id'),
      ).toMatch(UUID)
  })

  test("is logged without its path, its query or its account's token", async () => {
    const threadId = await server.thread('acme')
    await call(`/threads/${threadId}/files/content?path=/secret-plan.md`, { token: ACME })
    const line = JSON.stringify(logged.at(-1))
    expect(line).toContain('"account":"acme"')
    expect(line).toContain('"route":"/threads/:threadId/files/content"')
    expect(line).not.toContain('secret-plan')
    expect(line).not.toContain(ACME)
  })

  test('with NUL in its URL is 400', async () => {
    for (const path of ['/threads/a%00b', '/threads?agent=%00'])
      expect(codeOf(await call(path))).toEqual([400, 'bad_request'])
  })

  test('to nothing at all is 404', async () => {
    expect(codeOf(await call('/nothing'))).toEqual([404, 'not_found'])
  })
})

describe('an error', () => {
  test.each([
    ['a surprise', new Error('the password is 1234'), 500, 'internal'],
    [
      'a store that fails',
      new StoreError('unavailable', 'Expected /var/secret/threads.db to be there'),
      503,
      'store_unavailable',
    ],
    ['a value', 'the password is 1234', 500, 'internal'],
  ])('that is %s tells its words to nobody', async (_what, thrown, status, code) => {
    const threadId = await server.thread()
    const client = Object.assign(new ThreadClient(), {
      owner: fixture.threads.owner.bind(fixture.threads),
      get: () => {
        // A bug may throw any value.
        throw thrown as Error
      },
    })
    const lines: object[] = []
    const app = createThreadApp({ client, tokens: [{ token: OPERATOR }], log: (entry) => lines.push(entry) })
    const response = await app.request(`/threads/${threadId}/snapshot`, {
      headers: { authorization: `Bearer ${OPERATOR}` },
    })
    const text = await response.text()
    expect([response.status, JSON.parse(text).error.code]).toEqual([status, code])
    expect(lines).toMatchObject([{ level: 'error', error: { frames: expect.any(Array) } }])
    for (const said of [text, JSON.stringify(lines)]) expect(said).not.toMatch(/password|secret|1234/)
  })

  test('of Temporal tells no address', async () => {
    const threads = new ThreadClient({ client: await unreachable(), store: fixture.place })
    const get = () => ({ continue: () => threads.create({ agent: 'support' }) })
    const app = createThreadApp({
      client: Object.assign(threads, { get }) as unknown as ThreadClient,
      tokens: [{ token: OPERATOR }],
      log: () => undefined,
    })
    const threadId = await server.thread()
    const headers = { authorization: `Bearer ${OPERATOR}` }
    const response = await app.request(`/threads/${threadId}/continue`, { method: 'POST', headers })
    expect(response.status).toBe(503)
    expect(await response.text()).not.toMatch(/127\.0\.0\.1|ECONN/)
    await threads.close()
  })
})

describe('a server that cannot reach what it needs', () => {
  const unavailable = new TemporalUnavailableError('x', { address: '10.0.0.1:7233', problem: 'no answer' })
  const body = { agent: 'support', message: 'Hello' }

  async function answerOf(thrown: Error, path: string, given: object): Promise<Answer> {
    const fail = (): Promise<never> => Promise.reject(thrown)
    const client = Object.assign(new ThreadClient({ client: await unreachable() }), {
      owner: fixture.threads.owner.bind(fixture.threads),
      create: fail,
      get: () => ({ send: fail, setEnv: fail, once: () => ({ send: fail }) }),
    }) as unknown as ThreadClient
    const app = createThreadApp({ client, tokens: [{ token: OPERATOR }], log: () => undefined })
    const response = await app.request(path, {
      method: path.endsWith('variables') ? 'PUT' : 'POST',
      headers: { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' },
      body: JSON.stringify(given),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  test.each([
    [unavailable, 'temporal_unavailable'],
    [new StoreError('busy', 'Expected a lock'), 'store_unavailable'],
  ])('says that the same again is safe only where a key makes it so', async (thrown, code) => {
    const threadId = await server.thread()
    const messages = `/threads/${threadId}/messages`
    for (const [path, given] of [
      ['/threads', { ...body, key: 'k' }],
      [messages, { content: 'x', key: 'k' }],
    ] as const) {
      const again = await answerOf(thrown, path, given)
      expect([...codeOf(again), again.headers.get('retry-after')]).toEqual([503, code, '1'])
    }
    for (const [path, given] of [
      ['/threads', body],
      [messages, { content: 'x' }],
    ] as const) {
      const once = await answerOf(thrown, path, given)
      expect([...codeOf(once), once.headers.get('retry-after')]).toEqual([503, code, null])
      expect(once.body.error.message).toContain('give a "key"')
      expect(once.body.error.message).not.toMatch(/safe|try again/)
    }
  })

  test('a missing key of secrets is the fault of its operator', async () => {
    const threadId = await server.thread()
    const thrown = new StoreError('no_key', 'Expected a key to seal the secret "BUY_KEY", got none')
    const answer = await answerOf(thrown, `/threads/${threadId}/variables`, { env: { BUY_KEY: 'x' } })
    expect([...codeOf(answer), answer.headers.get('retry-after')]).toEqual([500, 'no_key', null])
    expect(answer.body.error.message).toContain('EVERTHREAD_SECRET_KEY')
  })

  test('a store that no repetition mends is no 503', async () => {
    for (const code of ['corrupt', 'incompatible', 'closed'] as const)
      expect(codeOf(await answerOf(new StoreError(code, 'x'), '/threads', body))).toEqual([500, 'internal'])
  })

  test("Temporal's configuration is not the caller's fault", async () => {
    const client = Object.defineProperty(new ThreadClient(), 'temporal', {
      get(): never {
        throw new ConfigError(['Expected /etc/secret.toml to be readable'])
      },
    })
    const app = createThreadApp({
      client: Object.assign(client, { find: async () => null, create: async () => client.temporal }) as never,
      tokens: [{ token: OPERATOR }],
      log: () => undefined,
    })
    const headers = { authorization: `Bearer ${OPERATOR}`, 'content-type': 'application/json' }
    const response = await app.request('/threads', { method: 'POST', headers, body: JSON.stringify(body) })
    expect([response.status, await response.text()]).toEqual([500, expect.not.stringContaining('secret')])
  })
})

test('failures are on stderr where no log was given, and nothing else is', async () => {
  const threads = { owner: () => Promise.reject(new Error('the password is 1234')) }
  const app = createThreadApp({ client: threads as never, tokens: [{ token: OPERATOR }] })
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    await app.request('/health')
    await app.request('/threads/a', { headers: { authorization: `Bearer ${OPERATOR}` } })
    const lines = stderr.mock.calls.map(([line]) => JSON.parse(String(line)))
    expect(lines).toMatchObject([{ status: 500, threadId: 'a', error: { name: 'Error' } }])
    expect(JSON.stringify(lines)).not.toContain('1234')
  } finally {
    stderr.mockRestore()
  }
})

test('the document is made once', async () => {
  const { app } = server
  const made = vi.spyOn(app, 'getOpenAPI31Document')
  for (let time = 0; time < 3; time += 1) expect((await app.request('/openapi.json')).status).toBe(200)
  expect(made).toHaveBeenCalledTimes(1)
})

test('every answer keeps browsers from running, framing or keeping it', async () => {
  for (const path of ['/health', '/openapi.json', '/threads', '/nothing', '/threads/nobody']) {
    const { headers } = await call(path)
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('access-control-allow-origin')).toBeNull()
  }
})

async function unreachable() {
  const { Client, Connection } = await import('@temporalio/client')
  return new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) })
}
