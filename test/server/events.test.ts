import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { fact } from '../../src/protocol/facts.js'
import { createThreadApp, serveThreads } from '../../src/server/index.js'
import type { RequestEntry } from '../../src/server/index.js'
import { appendEvents } from '../../src/store/events.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { until } from '../support/until.js'
import { codeOf, OPERATOR, serverFixture } from './server-fixture.js'

const server = serverFixture({ heartbeat: 100 })
const { call, raw, fixture } = server

describe('the stream of events', () => {
  test('has each event with its id, and ends when the thread closes', async () => {
    const threadId = await server.thread()
    const reading = read(`/threads/${threadId}/events`)
    await append(threadId, 'first', 'second')
    await close(threadId)
    const frames = (await reading).filter(({ id }) => id !== undefined)
    expect(frames.map(({ id, event }) => [id, event])).toEqual([
      ['1', 'thread.started'],
      ['2', 'session.created'],
      ['3', 'custom'],
      ['4', 'custom'],
      ['5', 'thread.closed'],
    ])
    expect(frames.map(({ data }) => data?.sequence)).toEqual([1, 2, 3, 4, 5])
  })

  test('AR-ES.1 AR-ES.11 goes on behind the last event that was seen, with the events of a client', async () => {
    const threadId = await server.thread()
    await append(threadId, 'first', 'second')
    const ids = async (path: string, headers = {}) =>
      (await read(path, headers)).flatMap(({ id }) => (id === undefined ? [] : [id]))
    const path = `/threads/${threadId}/events?follow=false`
    expect(await ids(path)).toEqual(['1', '2', '3', '4'])
    expect(await ids(`${path}&after=3`)).toEqual(['4'])
    expect(await ids(path, { 'last-event-id': '2' })).toEqual(['3', '4'])
    expect(await ids(`${path}&after=0`, { 'last-event-id': '3' })).toEqual(['4'])
    const polled: unknown[] = []
    for await (const event of server.fixture.threads.get(threadId).events({ follow: false }))
      polled.push(event)
    expect((await read(path)).flatMap(({ data }) => (data === undefined ? [] : [data]))).toEqual(polled)
  })

  test('of a closed thread whose end was seen is 204, so that no browser comes back', async () => {
    const threadId = await server.thread()
    await close(threadId)
    expect((await call(`/threads/${threadId}/events`, { headers: { 'last-event-id': '3' } })).status).toBe(
      204,
    )
    expect(
      (await read(`/threads/${threadId}/events`, { 'last-event-id': '2' })).map(({ event }) => event),
    ).toEqual(['thread.closed'])
  })

  test('refuses an id that is none', async () => {
    const threadId = await server.thread()
    expect(codeOf(await call(`/threads/${threadId}/events`, { headers: { 'last-event-id': 'x' } }))).toEqual([
      400,
      'bad_request',
    ])
  })

  test('says that it lives while nothing happens', async () => {
    const threadId = await server.thread()
    const response = await raw(`/threads/${threadId}/events?after=2`)
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const reader = (response.body ?? new ReadableStream()).getReader()
    for (let beat = 0; beat < 2; beat += 1)
      expect(new TextDecoder().decode((await reader.read()).value)).toBe(': \n\n')
    await reader.cancel()
  })

  test('is not begun by HEAD, nor for a reader that never reads', async () => {
    const threadId = await server.thread()
    const begun: string[] = []
    const app = createThreadApp({ client: watched([], begun), tokens: [{ token: OPERATOR }] })
    const headers = { authorization: `Bearer ${OPERATOR}` }
    const head = await app.request(`/threads/${threadId}/events`, { method: 'HEAD', headers })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const unread = await app.request(`/threads/${threadId}/events`, { headers })
    await setImmediate()
    expect(begun).toEqual([])
    await unread.body?.cancel()
  })

  test('of a reader that is stuck ends when it is old, and is freed', async () => {
    const threadId = await server.thread()
    await append(threadId, 'first', 'second')
    const ended: string[] = []
    const app = createThreadApp({ client: watched(ended), tokens: [{ token: OPERATOR }], longestStream: 100 })
    const headers = { authorization: `Bearer ${OPERATOR}` }
    const { body } = await app.request(`/threads/${threadId}/events`, { headers })
    const reader = (body ?? new ReadableStream()).getReader()
    await reader.read()
    await until('the end of the iteration', () => ended.length === 1)
    expect((await reader.read()).done).toBe(true)
  })

  test('of a reader that does not read is read no further', async () => {
    const threadId = await server.thread()
    await append(threadId, ...Array.from({ length: 500 }, (_, index) => `event ${index}`))
    const slow = await raw(`/threads/${threadId}/events`)
    const reader = (slow.body ?? new ReadableStream()).getReader()
    await reader.read()
    // Another reader gets all events while this one is stuck.
    expect(await read(`/threads/${threadId}/events?follow=false`)).toHaveLength(502)
    await append(threadId, 'later')
    let last = ''
    while (!last.includes('"later"')) last = new TextDecoder().decode((await reader.read()).value)
    await reader.cancel()
  })
})

describe('a server that listens', () => {
  test('frees a stream whose reader has gone', async () => {
    const threadId = await server.thread()
    const ended: string[] = []
    const logged: RequestEntry[] = []
    const client = watched(ended)
    const listening = await serveThreads({
      client,
      tokens: [{ token: OPERATOR }],
      port: 0,
      heartbeat: 50,
      log: (entry) => logged.push(entry),
    })
    const leave = new AbortController()
    const response = await fetch(`${listening.url}/threads/${threadId}/events`, {
      headers: { authorization: `Bearer ${OPERATOR}` },
      signal: leave.signal,
    })
    await response.body?.getReader().read()
    leave.abort()
    await until('the end of the iteration', () => ended.length === 1)
    expect(logged.filter(({ level }) => level === 'error')).toEqual([])
    await listening.close()
  })

  test('closes although a reader takes nothing', async () => {
    const threadId = await server.thread()
    const client = fixture.threads
    const file = new Uint8Array(32 * 1024 * 1024)
    await client.get(threadId).writeFile('/big', file, 'text/plain')
    const { url, close } = await serveThreads({
      client,
      tokens: [{ token: OPERATOR }],
      port: 0,
      closeGrace: 100,
    })
    const response = await fetch(`${url}/threads/${threadId}/files/content?path=/big`, {
      headers: { authorization: `Bearer ${OPERATOR}` },
    })
    await close()
    await expect(response.arrayBuffer()).rejects.toThrow('terminated')
  })

  test('ends its streams when it closes, and those that are old', async () => {
    const threadId = await server.thread()
    const listen = (longestStream: number) =>
      serveThreads({ client: fixture.threads, tokens: [{ token: OPERATOR }], port: 0, longestStream })
    const follow = (url: string) =>
      fetch(`${url}/threads/${threadId}/events`, { headers: { authorization: `Bearer ${OPERATOR}` } })
    const short = await listen(100)
    expect(await (await follow(short.url)).text()).toContain('id: 1\n')
    await short.close()
    const long = await listen(60_000)
    const text = await beginText(await follow(long.url))
    const begun = performance.now()
    await Promise.all([long.close(), long.close()])
    // Shorter than the five seconds for which Node keeps a connection whose answer has ended.
    expect(performance.now() - begun).toBeLessThan(4_500)
    await long.close()
    expect(await text.rest()).toContain('id: 1\n')
  })
})

/** Waits for the first chunk of an answer; `rest` returns the whole text, that chunk included. */
async function beginText({ body }: Response): Promise<{ rest(): Promise<string> }> {
  const chunks = body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  const first = await chunks?.next()
  if (chunks === undefined || first === undefined || first.done === true) throw new Error('Expected words.')
  return {
    async rest() {
      let text = first.value
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) text += next.value
      return text
    },
  }
}

/** The client, which records the begin and the end of each iteration of events. */
function watched(ended: string[], begun: string[] = []): typeof fixture.threads {
  const { threads } = fixture
  const get = threads.get.bind(threads)
  return Object.assign(threads, {
    get(threadId: string) {
      const thread = get(threadId)
      const events = thread.events.bind(thread)
      return Object.assign(thread, {
        async *events(...given: Parameters<typeof events>) {
          begun.push(threadId)
          try {
            yield* events(...given)
          } finally {
            ended.push(threadId)
          }
        },
      })
    },
  })
}

interface Frame {
  readonly id?: string
  readonly event?: string
  readonly data?: { readonly sequence: number }
}

async function read(path: string, headers: Record<string, string> = {}): Promise<readonly Frame[]> {
  const text = await (await raw(path, { headers })).text()
  return text
    .split('\n\n')
    .filter((block) => block !== '' && !block.startsWith(':'))
    .map((block) => {
      const fields = block
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)])
      const { data, ...rest } = Object.fromEntries(fields) as Record<string, string>
      return { ...rest, data: JSON.parse(data ?? 'null') }
    })
}

async function append(threadId: string, ...names: readonly string[]): Promise<void> {
  const events = names.map((name) => fact('custom', { name, data: null }))
  await fixture.store.write((tx) => appendEvents(tx, { threadId, events, now: Date.now() * 1000 }))
}

async function close(threadId: string): Promise<void> {
  const now = Date.now() * 1000
  const payload = { outcome: 'completed', reason: 'session_stop', rejected: 0 }
  await fixture.store.write(async (tx) => {
    await updateThread(tx, threadId, { closed_at: now, status: 'completed' })
    await appendEvents(tx, { threadId, events: [fact('thread.closed', payload)], now })
  })
}
