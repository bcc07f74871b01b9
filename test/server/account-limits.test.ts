import { afterEach, describe, expect, test } from 'vitest'
import { DEFAULT_RATE_LIMITS } from '../../src/index.js'
import type { RateLimits } from '../../src/index.js'
import { ThreadClient } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { openStore } from '../../src/store/open-store.js'
import { runProcess } from '../store/processes/run-process.js'
import { ACME, GLOBEX, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture()
const { fixture } = server

const TOKENS = [{ token: OPERATOR }, { token: ACME, account: 'acme' }, { token: GLOBEX, account: 'globex' }]

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

/** A server on the fixture's store. */
function appWith(rateLimits: RateLimits, client: ThreadClient = fixture.threads) {
  const app = createThreadApp({ client, tokens: TOKENS, rateLimits, rateLimit: false })
  const ask = async (token: string, path = '/threads', body?: object) =>
    app.request(path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
  const create = (token: string, key: string) =>
    ask(token, '/threads', { agent: 'support', key, message: 'Hello' })
  const send = (threadId: string, content: string) => ask(ACME, `/threads/${threadId}/messages`, { content })
  return { ask, create, send }
}

const idOf = async (response: Response) => ((await response.json()) as { threadId: string }).threadId
const statusesOf = (responses: readonly Response[]) => responses.map(({ status }) => status)

describe('requests of an account', () => {
  test('KP-11.2 above the limit are 429, with Retry-After in seconds and X-RateLimit-Remaining', async () => {
    const { ask } = appWith({ requestsPerMinute: 2 })
    const answers = [await ask(ACME), await ask(ACME), await ask(ACME), await ask(ACME)]
    expect(statusesOf(answers)).toEqual([200, 200, 429, 429])
    const header = (name: string) => answers.map(({ headers }) => headers.get(name))
    expect(header('x-ratelimit-remaining')).toEqual(['1', '0', '0', '0'])
    const [, , refused, again] = header('retry-after')
    for (const wait of [refused, again]) {
      expect(wait).toMatch(/^\d+$/)
      expect(Number(wait)).toBeGreaterThan(50)
      expect(Number(wait)).toBeLessThanOrEqual(61)
    }
    expect(await answers[2]?.json()).toMatchObject({
      error: { code: 'rate_limited', message: expect.stringContaining('at most 2 requests in a minute') },
    })
  })

  test('answers with an error say how many are left, too', async () => {
    const { ask } = appWith({ requestsPerMinute: 5 })
    const missing = await ask(ACME, '/threads/nobody')
    expect([missing.status, missing.headers.get('x-ratelimit-remaining')]).toEqual([404, '4'])
  })

  test('count over several processes; another account and an operator have not used them', async () => {
    const store = await openStore(fixture.place)
    closing.push(() => store.close())
    const { ask } = appWith(DEFAULT_RATE_LIMITS)
    const other = runProcess('take', fixture.place, 'other', '60', '100')
    const own = await Promise.all(Array.from({ length: 41 }, () => ask(ACME)))
    await other.ended()
    const [got] = await store.read((db) => db.selectFrom('thread_values').select('value').execute())
    const passed = own.filter(({ status }) => status === 200).length
    expect(passed + Number(got?.value)).toBe(100)
    expect((await ask(ACME)).status).toBe(429)
    expect((await ask(GLOBEX)).status).toBe(200)
    for (let request = 0; request < 3; request += 1) expect((await ask(OPERATOR)).status).toBe(200)
  })

  test('pass again as the minute rolls', async () => {
    const { ask } = appWith({ requestsPerMinute: 1 })
    expect((await ask(ACME)).status).toBe(200)
    const refused = await ask(ACME)
    const wait = Number(refused.headers.get('retry-after'))
    // As if that time had passed.
    const store = await openStore(fixture.place)
    closing.push(() => store.close())
    const before = Math.floor(Date.now() / 1000) - wait
    const counts = JSON.stringify([[before, 1]])
    await store.write((tx) => tx.updateTable('rate_windows').set({ counts }).execute())
    expect((await appWith({ requestsPerMinute: 1 }).ask(ACME)).status).toBe(200)
  })

  test('are not limited, and say nothing of it, without the option', async () => {
    const { ask } = appWith({})
    const answer = await ask(ACME)
    expect([answer.status, answer.headers.has('x-ratelimit-remaining')]).toEqual([200, false])
  })
})

describe('messages of a session', () => {
  test('above the limit are 429, those of another session and of another account are not', async () => {
    const { create, send } = appWith({ messagesPerMinute: 3 })
    const first = await idOf(await create(ACME, 'one'))
    const sent = [await send(first, 'two'), await send(first, 'three'), await send(first, 'four')]
    expect(statusesOf(sent)).toEqual([202, 202, 429])
    expect(sent[2]?.headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(sent[2]?.headers.get('retry-after'))).toBeGreaterThan(50)
    expect((await create(ACME, 'another')).status).toBe(201)
    expect((await create(GLOBEX, 'one')).status).toBe(201)
    const { messages } = await fixture.threads.get(first).messages()
    expect(messages.map(({ content }) => content)).toEqual(['Hello', 'two', 'three'])
  })
})

describe('sessions at once', () => {
  test('above the limit are 429, and nothing of them is stored', async () => {
    const { create, send, ask } = appWith({ concurrentSessions: 3 })
    const created = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => create(ACME, key)))
    const refused = created.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(3)
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    const page = (await (await ask(ACME)).json()) as { threads: readonly { threadId: string }[] }
    expect(page.threads).toHaveLength(3)
    // A session that has a place goes on.
    expect((await send(page.threads[0]?.threadId ?? '', 'more')).status).toBe(202)
    expect((await create(GLOBEX, 'a')).status).toBe(201)
    // A place is free when its session has come to rest, here by its end.
    await fixture.store.write((tx) =>
      tx
        .updateTable('threads')
        .set({ closed_at: 1 })
        .where('id', '=', page.threads[1]?.threadId ?? '')
        .execute(),
    )
    expect(statusesOf([await create(ACME, 'g'), await create(ACME, 'h')])).toEqual([201, 429])
    // A thread without a message has nothing to do.
    expect((await ask(ACME, '/threads', { agent: 'support', key: 'quiet' })).status).toBe(201)
  })
})

test.each([
  [{ requestsPerMinute: -1 }, 'rateLimits.requestsPerMinute'],
  [{ perMinute: 1 } as RateLimits, 'got "perMinute"'],
])('limits that are no limits are refused before anything starts: %j', (rateLimits, words) => {
  const options = { client: new ThreadClient(), tokens: [{ token: OPERATOR }] }
  expect(() => createThreadApp({ ...options, rateLimits })).toThrow(words)
})
