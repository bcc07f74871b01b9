import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { NewWebhook } from '../../src/client/index.js'
import { contextOf } from '../../src/client/thread-client.js'
import { createDelivery, deliverWebhooks, TIMES } from '../../src/client/webhooks/deliver-webhooks.js'
import type { DeliveryWorld } from '../../src/client/webhooks/deliver-webhooks.js'
import { fact } from '../../src/protocol/facts.js'
import { openStore } from '../../src/store/open-store.js'
import { appendEvents } from '../../src/store/events.js'
import { rotateSecrets } from '../../src/store/threads/variables.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { startReceiver } from '../support/receiver.js'
import type { Receiver } from '../support/receiver.js'
import { until } from '../support/until.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

let fixture: ClientFixture
let receiver: Receiver
let threads: ThreadClient

beforeEach(async () => {
  fixture = await createClientFixture(undefined, { egress: { allow: ['127.0.0.1'] } })
  threads = fixture.threads
  receiver = await startReceiver()
  await makeThread('a', 'acme')
  await makeThread('g', 'globex')
})
afterEach(async () => {
  await receiver.close()
  await fixture.close()
})

async function makeThread(id: string, account: string, root = id): Promise<void> {
  await fixture.store.write((tx) =>
    insertThread(tx, { id, agent: 'support', account, created_at: 1, root_thread_id: root }),
  )
}

async function append(threadId: string, ...names: readonly string[]): Promise<void> {
  const events = names.map((name) => fact('custom', { name, data: null }))
  await fixture.store.write((tx) => appendEvents(tx, { threadId, events, now: 1 }))
}

/** Each event in a row of its own. */
async function appendToOther(rows: number): Promise<void> {
  await fixture.store.write(async (tx) => {
    for (let row = 0; row < rows; row += 1)
      await appendEvents(tx, { threadId: 'g', events: [fact('custom', { name: 'x', data: null })], now: 1 })
  })
}

const subscribe = (more: Partial<NewWebhook> = {}) => threads.webhooks.create({ url: receiver.url, ...more })

const got = (): readonly string[] =>
  receiver.posted.map(({ threadId, sequence }) => `${threadId} ${sequence}`)

/** Deliveries that a test drives: its own clock, and one round after the other. */
function delivering(client = threads, more: Partial<DeliveryWorld['times']> = {}) {
  const end = new AbortController()
  let skipped = 0
  const world = { now: () => Date.now() + skipped, times: { ...TIMES, ...more } }
  const delivery = createDelivery(contextOf(client), end.signal, world)
  return {
    end,
    skip: (milliseconds: number) => void (skipped += milliseconds),
    /** Until nothing is under way. */
    async round(): Promise<void> {
      await settled()
      await delivery.begin()
      await delivery.end()
    },
  }
}

/** On PostgreSQL the order of events waits for transactions of the whole server, also for those of other tests. */
async function settled(): Promise<void> {
  const { store } = fixture
  await until('the order of events', async () => {
    const { settled: after } = await store.readEventEnds()
    return (await store.readAllEvents({ after, rows: 1_000 })).settled
  })
}

describe('a webhook', () => {
  test('gets the events that are written from now on, signed, in order, as subscribers get them', async () => {
    await append('a', 'before')
    const { secret, ...webhook } = await subscribe()
    await append('a', 'one', 'two')
    await append('g', 'three')
    await delivering().round()
    expect(got()).toEqual(['a 2', 'a 3', 'g 1'])
    expect(receiver.posted.every(({ isSignedBy }) => isSignedBy(secret))).toBe(true)
    const seen = []
    for await (const event of threads.get('a').events({ after: 1, follow: false })) seen.push(event)
    expect(receiver.posted.slice(0, 2).map(({ body }) => JSON.parse(body))).toEqual(seen)
    expect(await threads.webhooks.get(webhook.id)).toEqual(webhook)
    expect(JSON.stringify([webhook, await threads.webhooks.list()])).not.toContain(secret.slice(6))
    // Nothing is posted twice.
    await delivering().round()
    expect(receiver.posted).toHaveLength(3)
  })

  test('of an account gets events of its threads only, and one of a tree those of the tree', async () => {
    await makeThread('child', 'acme', 'a')
    await makeThread('other', 'acme')
    await subscribe({ account: 'acme' })
    await append('g', 'foreign')
    await append('other', 'own')
    await append('child', 'own')
    await delivering().round()
    expect(got()).toEqual(['other 1', 'child 1'])
    receiver.posted.length = 0
    const { id } = await subscribe({ threadId: 'a', types: ['custom'] })
    await threads.webhooks.delete((await threads.webhooks.list()).find((one) => one.id !== id)?.id ?? '')
    await append('other', 'outside')
    await append('child', 'inside')
    await append('a', 'inside')
    await delivering().round()
    expect(got()).toEqual(['child 2', 'a 1'])
  })

  test('gets the types that it names, also by their beginning, and moves over all others', async () => {
    const { id } = await subscribe({ types: ['run.*', 'thread.closed'] })
    const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }
    const events = [
      fact('run.started', { trigger: 'message' }),
      fact('custom', { name: 'x', data: null }),
      fact('run.completed', { reason: 'stop_on_response', steps: 1, usage, status: 'idle' }),
    ]
    await fixture.store.write((tx) => appendEvents(tx, { threadId: 'a', events, now: 1 }))
    await appendToOther(10)
    const one = delivering()
    await one.round()
    expect(receiver.posted.map(({ type }) => type)).toEqual(['run.started', 'run.completed'])
    const before = await cursorOf(id)
    for (let row = 0; row < 1_200; row += 100) await appendToOther(100)
    await one.round()
    // It has stored its position, although nothing was posted.
    expect(await cursorOf(id)).not.toBe(before)
    expect(receiver.posted).toHaveLength(2)
  })

  test('whose receiver answers 500 for ten minutes gets each event once, in order', async () => {
    const { id } = await subscribe()
    await append('a', 'one', 'two')
    await append('g', 'three')
    receiver.answer = () => 500
    const one = delivering()
    const pauses: number[] = []
    for (let passed = 0; passed < 600_000;) {
      await one.round()
      const webhook = await threads.webhooks.get(id)
      expect(webhook).toMatchObject({ state: 'failing', attempts: pauses.length + 1 })
      expect(webhook?.error).toContain('got 500')
      pauses.push((webhook?.nextAttemptAt ?? 0) / 1000 - Date.now() - passed)
      const count = receiver.posted.length
      // It is not tried before its time.
      await one.round()
      expect(receiver.posted).toHaveLength(count)
      const step = Math.ceil(pauses.at(-1) ?? 0) + 1_000
      one.skip(step)
      passed += step
    }
    expect(pauses.map((pause) => Math.ceil(pause / 1000)).slice(0, 6)).toEqual([1, 2, 4, 8, 16, 32])
    const tried = receiver.posted.splice(0)
    expect(new Set(tried.map((posted) => posted.id)).size).toBe(1)
    expect(new Set(tried.map(({ sequence }) => sequence))).toEqual(new Set([1]))
    receiver.answer = () => 204
    await append('a', 'four')
    await one.round()
    expect(got()).toEqual(['a 1', 'a 2', 'g 1', 'a 3'])
    // The event that was tried has the id that it had.
    expect(receiver.posted[0]?.id).toBe(tried[0]?.id)
    expect(await threads.webhooks.get(id)).toMatchObject({ state: 'active', attempts: 0, error: null })
  })

  test('waits as long as its receiver asks', async () => {
    const { id } = await subscribe()
    await append('a', 'one')
    receiver.answer = () => ({ status: 429, headers: { 'retry-after': '120' } })
    await delivering().round()
    const { nextAttemptAt } = (await threads.webhooks.get(id)) ?? {}
    expect(Math.round(((nextAttemptAt ?? 0) / 1000 - Date.now()) / 1000)).toBeGreaterThan(110)
  })

  test('that fails for days is paused with its reason, and goes on where it was once it is active', async () => {
    const { id } = await subscribe()
    await append('a', 'one', 'two')
    receiver.answer = (_posted, count) => (count === 1 ? 200 : 503)
    const one = delivering()
    await one.round()
    one.skip(TIMES.pause + 3_600_000)
    await one.round()
    expect(await threads.webhooks.get(id)).toMatchObject({ state: 'paused', nextAttemptAt: null })
    expect((await threads.webhooks.get(id))?.error).toContain('got 503')
    one.skip(TIMES.pause)
    await one.round()
    expect(receiver.posted).toHaveLength(3)
    receiver.answer = () => 200
    receiver.posted.length = 0
    expect(await threads.webhooks.update(id, { state: 'active' })).toMatchObject({
      state: 'active',
      error: null,
    })
    await one.round()
    expect(got()).toEqual(['a 2'])
  })

  test('posts the events from one on again, under their ids, also once it was paused', async () => {
    const webhook = await subscribe({ account: 'acme' })
    await append('a', 'one', 'two', 'three')
    await append('a', 'four')
    await delivering().round()
    await threads.webhooks.update(webhook.id, { state: 'paused' })
    await append('a', 'five')
    expect(await threads.webhooks.redeliver(webhook.id, 'a:2')).toMatchObject({ state: 'active' })
    await delivering().round()
    expect(got()).toEqual(['a 1', 'a 2', 'a 3', 'a 4', 'a 2', 'a 3', 'a 4', 'a 5'])
    const ids = receiver.posted.map((posted) => posted.id)
    expect(ids.slice(4, 7)).toEqual(ids.slice(1, 4))
    // What it does not get, or there is not, moves nothing.
    await append('g', 'foreign')
    for (const none of ['g:1', 'a:9', 'a:0', 'nobody:1', 'a', '', ':1'])
      await expect(threads.webhooks.redeliver(webhook.id, none)).rejects.toThrow(
        'Expected the id of an event',
      )
    expect(await threads.webhooks.redeliver(webhook.id, 'a:2', { account: 'globex' })).toBeNull()
    expect(await threads.webhooks.redeliver('wh_none', 'a:2')).toBeNull()
    await delivering().round()
    expect(receiver.posted).toHaveLength(8)
  })

  test('whose receiver is gone is paused at once', async () => {
    const { id } = await subscribe()
    await append('a', 'one')
    receiver.answer = () => 410
    await delivering().round()
    expect(await threads.webhooks.get(id)).toMatchObject({ state: 'paused' })
  })

  test('is not followed to another address, and no private address is posted to', async () => {
    const inner = await startReceiver()
    receiver.answer = () => ({ status: 307, headers: { location: inner.url } })
    const { id } = await subscribe()
    await append('a', 'one')
    await delivering().round()
    expect((await threads.webhooks.get(id))?.error).toContain('got 307')
    // Made while the address was allowed, delivered by a process that does not allow it.
    const strict = new ThreadClient({ store: fixture.place })
    await threads.webhooks.update(id, { url: inner.url, state: 'active' })
    await delivering(strict).round()
    expect((await threads.webhooks.get(id))?.error).toContain('https')
    expect(inner.posted).toEqual([])
    await strict.close()
    await inner.close()
  })
})

describe('processes that deliver the same webhook', () => {
  test('take turns: each event is posted once', async () => {
    await subscribe()
    const others = await Promise.all(
      [1, 2, 3].map(async () => {
        const client = new ThreadClient({
          store: fixture.place,
          egress: { allow: ['127.0.0.1'] },
        })
        const end = new AbortController()
        const times = { ...TIMES, gather: 20 }
        return { client, end, done: deliverWebhooks(contextOf(client), { signal: end.signal }, { times }) }
      }),
    )
    for (let n = 0; n < 40; n += 1) await append(n % 2 === 0 ? 'a' : 'g', `event ${n}`)
    await until('all events', () => receiver.posted.length >= 40)
    for (const { end } of others) end.abort()
    await Promise.all(others.map(({ done }) => done))
    for (const { client } of others) await client.close()
    expect(new Set(got()).size).toBe(40)
    expect(receiver.posted).toHaveLength(40)
    const of = (id: string) => got().filter((event) => event.startsWith(id))
    expect(of('a')).toEqual(Array.from({ length: 20 }, (_, n) => `a ${n + 1}`))
    expect(of('g')).toEqual(Array.from({ length: 20 }, (_, n) => `g ${n + 1}`))
  })

  test('one that was away for longer than its lease moves nothing', async () => {
    const { id } = await subscribe()
    await append('a', 'one')
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    receiver.answer = async (_posted, count) => {
      if (count === 1) await held
      return 200
    }
    const slow = delivering(threads, { lease: 50 })
    const slowly = slow.round()
    await until('the first request', () => receiver.posted.length === 1)
    await append('a', 'two')
    await new Promise((resolve) => setTimeout(resolve, 120))
    await delivering().round()
    expect(got()).toEqual(['a 1', 'a 1', 'a 2'])
    const before = await cursorOf(id)
    await append('a', 'three')
    release()
    await slowly
    // It may post what it holds, with the same ids, and the position stays that of the one that has the webhook.
    expect(await cursorOf(id)).toBe(before)
    expect(receiver.posted[0]?.id).toBe(receiver.posted[1]?.id)
    await delivering().round()
    expect(got().at(-1)).toBe('a 3')
  })

  test('one that ends lets the request in flight end, and the next goes on behind it', async () => {
    await subscribe()
    await append('a', 'one', 'two', 'three')
    const one = delivering()
    receiver.answer = (_posted, count) => {
      if (count === 2) one.end.abort()
      return 200
    }
    await one.round()
    await delivering().round()
    expect(got()).toEqual(['a 1', 'a 2', 'a 3'])
  })
})

describe('bad input', () => {
  test.each([
    [{ url: 'http://example.org/' }, 'url: Expected an https URL'],
    [{ url: 'https://10.0.0.1/' }, 'public internet'],
    [{ url: 'https://user:word@example.org/' }, 'without a user and password'],
    [{ url: 7 }, 'Expected "url" to be a text'],
    [{ url: 'https://example.org/', types: [] }, '"types"'],
    [{ url: 'https://example.org/', types: ['Run'] }, '"types"'],
    [{ url: 'https://example.org/', types: ['*'] }, '"types"'],
    [{ url: 'https://example.org/', account: '' }, '"account"'],
    [{ url: 'https://example.org/', threadId: 7 }, '"threadId"'],
    [{ url: 'https://example.org/', account: 'globex', threadId: 'a' }, 'to be a thread of "globex"'],
    [{ url: 'https://example.org/', threadId: 'nobody' }, 'Expected a thread "nobody"'],
    [{ url: 'https://example.org/', threadId: 'child' }, 'the root of a tree'],
  ])('%j is refused, and nothing is made', async (given, problem) => {
    await makeThread('child', 'acme', 'a')
    await expect(threads.webhooks.create(given as NewWebhook)).rejects.toThrow(problem)
    expect(await threads.webhooks.list()).toEqual([])
  })

  test('a webhook of another account is none', async () => {
    const { id } = await subscribe({ account: 'acme' })
    const owner = { account: 'globex' }
    expect(await threads.webhooks.get(id, owner)).toBeNull()
    expect(await threads.webhooks.update(id, { state: 'paused' }, owner)).toBeNull()
    expect(await threads.webhooks.delete(id, owner)).toBe(false)
    expect(await threads.webhooks.list(owner)).toEqual([])
    expect(await threads.webhooks.list({ account: 'acme' })).toHaveLength(1)
  })

  test('without a key nothing is made, and another key seals the secrets anew', async () => {
    const keyless = new ThreadClient({
      store: { database: fixture.place.database ?? '', blobs: fixture.place.blobs ?? '' },
    })
    await expect(keyless.webhooks.create({ url: 'https://example.org/' })).rejects.toThrow('a key to seal')
    await keyless.close()
    const { secret } = await subscribe()
    const secretKey = `${'ab'.repeat(32)},${fixture.place.secretKey}`
    const store = await openStore({ ...fixture.place, secretKey })
    expect(await rotateSecrets(store)).toBe(1)
    await store.close()
    await expect(openStore(fixture.place)).rejects.toThrow('EVERTHREAD_SECRET_KEY')
    const renewed = new ThreadClient({
      store: { ...fixture.place, secretKey },
      egress: { allow: ['127.0.0.1'] },
    })
    await append('a', 'one')
    await delivering(renewed).round()
    await renewed.close()
    expect(receiver.posted.map(({ isSignedBy }) => isSignedBy(secret))).toEqual([true])
  })
})

async function cursorOf(id: string): Promise<string | undefined> {
  const row = await fixture.store.read((db) =>
    db.selectFrom('webhooks').select('cursor').where('id', '=', id).executeTakeFirst(),
  )
  return row?.cursor
}
