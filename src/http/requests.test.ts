import { expect, test } from 'vitest'

import { createApi } from './api.js'
import { createHttpClient, HttpError } from './index.js'
import type { HttpClientOptions } from './index.js'
import { createSend, wait } from './requests.js'

type Answer = () => Response | Promise<Response>

const HOOK = { url: 'https://x.example' }
const NOBODY: Answer = () => Promise.reject(new TypeError('fetch failed'))
const OK: Answer = () => Response.json({ messageId: 'm', status: 'accepted' })
const refusal =
  (status: number, code: string, headers = {}): Answer =>
  () =>
    Response.json({ error: { code, message: 'No.', requestId: 'q' } }, { status, headers })

/** A client whose requests get these answers in turn, and what it has sent. */
function clientWith(answers: readonly Answer[], options: Partial<HttpClientOptions> = {}) {
  const sent: {
    readonly authorization: string | null
    readonly key: string | null
    readonly body: string
  }[] = []
  const client = createHttpClient({
    url: 'https://threads.example/below/',
    fetch: async (request) => {
      const { headers } = request
      const [authorization, key] = [headers.get('authorization'), headers.get('idempotency-key')]
      sent.push({ authorization, key, body: await request.text() })
      return (answers[sent.length - 1] ?? OK)()
    },
    ...options,
  })
  return { client, sent }
}

const failureOf = (work: Promise<unknown>): Promise<HttpError> =>
  work.then(
    () => Promise.reject(new Error('Expected a failure.')),
    (error: unknown) => error as HttpError,
  )

test('a command that nobody answers is sent again under one key, with its body', async () => {
  const { client, sent } = clientWith([NOBODY, NOBODY])
  await client.threads.get('t').send('Hello')
  expect(sent.map(({ body }) => body)).toEqual(Array(3).fill('{"content":"Hello"}'))
  expect(new Set(sent.map(({ key }) => key)).size).toBe(1)
  await client.threads.get('t').send('Hello')
  expect(sent[3]?.key).not.toBe(sent[0]?.key)
})

test('a POST without a key is not sent again where nobody answers, and its error says so', async () => {
  const { client, sent } = clientWith([NOBODY])
  const error = await failureOf(client.api.post('/webhooks', { body: HOOK }))
  expect([error.status, error.code, HttpError.isInstance(error), sent.length]).toEqual([
    0,
    'no_answer',
    true,
    1,
  ])
  expect(error.message).toContain('https://threads.example')
})

test('a refusal is repeated when the server says after how long, and only then', async () => {
  const soon = { 'retry-after': '0' }
  const limited = clientWith([refusal(429, 'rate_limited', soon), refusal(503, 'store_unavailable', soon)])
  await limited.client.api.post('/webhooks', { body: HOOK })
  expect(limited.sent).toHaveLength(3)
  const keyless = clientWith([refusal(503, 'store_unavailable')])
  const error = await failureOf(keyless.client.threads.get('t').send('Hello'))
  expect([error.code, error.retryAfter, error.requestId, keyless.sent.length]).toEqual([
    ...['store_unavailable', null, 'q'],
    1,
  ])
})

test('waits and repetitions are bounded', async () => {
  const long = clientWith([refusal(429, 'rate_limited', { 'retry-after': '3600' })])
  expect((await failureOf(long.client.api.get('/agents'))).retryAfter).toBe(3600)
  const never = clientWith(Array<Answer>(9).fill(refusal(429, 'rate_limited', { 'retry-after': '0' })))
  await failureOf(never.client.api.get('/agents'))
  expect(never.sent).toHaveLength(4)
})

test('a refused token is renewed once for all requests that it was refused to', async () => {
  let tokens = 0
  const { client, sent } = clientWith(
    [refusal(401, 'unauthorized'), refusal(401, 'unauthorized'), OK, OK, refusal(401, 'unauthorized')],
    { token: async () => `token ${(tokens += 1)}` },
  )
  await Promise.all([client.api.get('/agents'), client.api.get('/agents')])
  expect([tokens, sent.at(-1)?.authorization]).toEqual([2, 'Bearer token 2'])
  const fixed = clientWith([refusal(401, 'unauthorized')], { token: 'one' })
  expect((await failureOf(fixed.client.api.get('/agents'))).status).toBe(401)
  const again = clientWith(Array<Answer>(3).fill(refusal(401, 'unauthorized')), { token: () => 'one' })
  await failureOf(again.client.api.get('/agents'))
  expect(again.sent).toHaveLength(2)
})

test('a token that cannot be got fails the request, and the next one asks again', async () => {
  let isAway = true
  const { client } = clientWith([], {
    token: () => (isAway ? Promise.reject(new Error('No session.')) : 'token'),
  })
  await expect(client.api.get('/agents')).rejects.toThrow('No session.')
  isAway = false
  await client.api.get('/agents')
})

test('an answer of something else is named, and an abort keeps its reason', async () => {
  const { client } = clientWith([() => new Response('<html>', { status: 404 })])
  const error = await failureOf(client.api.get('/agents'))
  expect([error.code, error.status]).toEqual(['unknown', 404])
  const end = new AbortController()
  end.abort(new Error('Gone.'))
  await expect(client.api.get('/agents', { signal: end.signal })).rejects.toThrow('Gone.')
})

test('names in paths and queries are what was given, whatever their characters', async () => {
  const sent: string[] = []
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(request.url)
    return Response.json({})
  }
  const url = 'https://threads.example/below'
  const api = createApi(url, createSend({ url, fetch }))
  await api.get('/threads/{threadId}/files', { path: { threadId: 'a/b ü?' }, query: { path: '/x&y' } })
  expect(sent).toEqual([`${url}/threads/a%2Fb%20%C3%BC%3F/files?path=%2Fx%26y`])
})

test('a wait ends with its signal', async () => {
  const end = new AbortController()
  const waiting = wait(60_000, end.signal)
  end.abort(new Error('Gone.'))
  await expect(waiting).rejects.toThrow('Gone.')
  await expect(wait(60_000, end.signal)).rejects.toThrow('Gone.')
})
