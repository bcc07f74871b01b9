import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'

import { afterEach, expect, test } from 'vitest'
import { rolldown } from 'rolldown'

import { createHttpClient, HttpError } from '../../src/http/index.js'
import type { HttpClientOptions, StreamState } from '../../src/http/index.js'
import { fact } from '../../src/protocol/facts.js'
import { serveThreads } from '../../src/server/index.js'
import type { ServeThreadsOptions } from '../../src/server/index.js'
import { appendEvents } from '../../src/store/events.js'
import { freePort } from '../support/free-port.js'
import { until } from '../support/until.js'
import { ACME, GLOBEX, OPERATOR, serverFixture } from '../server/server-fixture.js'

const KEY = 'a-key-that-signs-tokens-of-one-thread'

const server = serverFixture()
const { fixture } = server

const ends: (() => Promise<unknown> | void)[] = []
afterEach(async () => {
  for (const end of ends.splice(0)) await end()
})

async function serve(options: Partial<ServeThreadsOptions> = {}): Promise<string> {
  const { url, close } = await serveThreads({
    client: fixture.threads,
    tokens: [{ token: OPERATOR }, { token: ACME, account: 'acme' }, { token: GLOBEX, account: 'globex' }],
    ...{ port: 0, rateLimit: false, closeGrace: 100 },
    ...options,
  })
  ends.push(close)
  return url
}

const clientOf = (url: string, options: Partial<HttpClientOptions> = {}) =>
  createHttpClient({ url, token: OPERATOR, ...options })

async function append(threadId: string, ...names: readonly string[]): Promise<void> {
  const events = names.map((name) => fact('custom', { name, data: null }))
  await fixture.store.write((tx) => appendEvents(tx, { threadId, events, now: 1 }))
}

const isHttpError = (code: string, status: number) => (error: unknown) =>
  HttpError.isInstance(error) && error.code === code && error.status === status

test('a thread is made, written to, read and steered with the words of ThreadClient', async () => {
  const { threads, api } = clientOf(await serve(), { token: ACME })
  const thread = await threads.create({ agent: 'support', key: 'ticket-17', title: 'A tent' })
  expect((await threads.create({ agent: 'support', key: 'ticket-17', title: 'A tent' })).threadId).toBe(
    thread.threadId,
  )
  const { messageId } = await thread.once('first').send('Hello')
  expect(await thread.once('first').send('Hello')).toMatchObject({ messageId })
  expect((await thread.messages()).messages).toMatchObject([{ id: messageId, content: 'Hello' }])
  expect(await thread.message(messageId)).toMatchObject({ end: null })
  expect(await thread.compact({ focus: 'tents' })).toEqual({ status: 'requested' })
  expect(await thread.read()).toMatchObject({ title: 'A tent', account: 'acme' })
  expect((await api.get('/threads/{threadId}/tree', { path: thread })).threadId).toBe(thread.threadId)
  await thread.writeFile('/a b/ü.txt', new Blob(['tent'], { type: 'text/plain' }))
  expect(await (await thread.readFile('/a b/ü.txt', { range: 'bytes=1-2' })).text()).toBe('en')
  expect(await thread.files('/a b')).toMatchObject([{ name: 'ü.txt', mimeType: 'text/plain' }])
  await thread.deleteFile('/a b/ü.txt')
  expect(await thread.files('/a b')).toEqual([])
  const found: string[] = []
  for await (const { threadId } of threads.list({ limit: 1 })) found.push(threadId)
  expect(found).toEqual([thread.threadId])
  await thread.terminate()
})

test('events are posted again by the client of their account, and to a webhook of that account only', async () => {
  const url = await serve()
  const { api, threads } = clientOf(url, { token: ACME })
  const threadId = await server.thread('acme')
  const webhook = await api.post('/webhooks', { body: { url: 'https://example.org/hook' } })
  expect(await threads.webhooks.redeliver(webhook.id, `${threadId}:1`)).toMatchObject({ id: webhook.id })
  await expect(threads.webhooks.redeliver(webhook.id, `${threadId}:99`)).rejects.toSatisfy(
    isHttpError('bad_request', 400),
  )
  const stranger = clientOf(url, { token: GLOBEX })
  expect(await stranger.threads.webhooks.redeliver(webhook.id, `${threadId}:1`)).toBeNull()
})

test('errors are those of the server', async () => {
  const { threads, api } = clientOf(await serve(), { token: ACME })
  const foreign = await server.thread('globex')
  expect(await threads.find(foreign)).toBeNull()
  await expect(threads.get(foreign).send('Hello')).rejects.toSatisfy(isHttpError('thread_not_found', 404))
  await expect(threads.get(await server.thread()).respond('none', { approved: true })).rejects.toSatisfy(
    isHttpError('request_not_found', 404),
  )
  await expect(api.get('/threads', { query: { cursor: 'x' } })).rejects.toSatisfy(
    isHttpError('bad_request', 400),
  )
})

test('a cursor from the future is refused, and repaired where a snapshot is asked for', async () => {
  const thread = clientOf(await serve()).threads.get(await server.thread())
  const read = async (options: object): Promise<readonly string[]> => {
    const types: string[] = []
    for await (const { type } of thread.events({ follow: false, ...options })) types.push(type)
    return types
  }
  expect(await read({})).toEqual(['thread.started', 'session.created'])
  expect(await read({ after: 2 })).toEqual([])
  for (const after of [999, '999:m:1:2:0', 'damaged']) {
    const failure = await read({ after }).catch((error: unknown) => error)
    expect(failure).toSatisfy(isHttpError('bad_request', 400))
    expect((failure as HttpError).message).toContain('Expected "after" to be')
    expect(await read({ after, snapshot: true })).toEqual(['snapshot.updated'])
  }
})

test('a thousand connections of one client leave no stream open on the server', async () => {
  const open = new Set<object>()
  const get = fixture.threads.get.bind(fixture.threads)
  const watched = Object.assign(fixture.threads, {
    get: (threadId: string) => {
      const thread = get(threadId)
      const events = thread.events.bind(thread)
      return Object.assign(thread, {
        async *events(...given: Parameters<typeof events>) {
          const mine = {}
          open.add(mine)
          try {
            yield* events(...given)
          } finally {
            open.delete(mine)
          }
        },
      })
    },
  })
  const threadId = await server.thread()
  const thread = clientOf(await serve({ client: watched })).threads.get(threadId)
  let most = 0
  for (let round = 0; round < 100; round += 1)
    await Promise.all(
      Array.from({ length: 10 }, async (_, lane) => {
        const end = new AbortController()
        for await (const { sequence } of thread.events({ signal: end.signal })) {
          most = Math.max(most, open.size)
          // One half goes away by itself, the other one is aborted while it waits for more.
          if (lane % 2 === 0) break
          if (sequence === 2) end.abort()
        }
      }),
    )
  expect(most).toBeGreaterThan(0)
  await until('no stream is open', () => open.size === 0)
})

test('a server that is killed and comes again neither loses nor doubles an event', async () => {
  const port = await freePort()
  const threadId = await server.thread()
  let child = await startServer(port)
  ends.push(() => void child.kill('SIGKILL'))
  const end = new AbortController()
  const names: string[] = []
  const states: StreamState[] = []
  const reading = (async () => {
    const { threads } = clientOf(`http://127.0.0.1:${port}`)
    const onState = (state: StreamState): void => void states.push(state)
    for await (const event of threads.get(threadId).events({ after: 2, signal: end.signal, onState }))
      if (event.type === 'custom') names.push(event.payload.name)
  })()
  await append(threadId, 'one', 'two')
  await until('two events', () => names.length === 2)
  child.kill('SIGKILL')
  await until('it has noticed', () => states.at(-1) === 'waiting')
  await append(threadId, 'three')
  child = await startServer(port)
  await until('the third event', () => names.length === 3)
  await append(threadId, 'four')
  await until('the fourth event', () => names.length === 4)
  end.abort()
  await reading
  expect(names).toEqual(['one', 'two', 'three', 'four'])
})

/** A process that serves the threads of the fixture. */
async function startServer(port: number): Promise<ChildProcess> {
  const file = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
  const { address, taskQueue, place } = fixture
  const given = { address, taskQueue, store: place, port, token: OPERATOR }
  const child = fork(file('chaos/processes/api-process.ts'), [JSON.stringify(given)], {
    execArgv: [
      ...['--import', file('test/chaos/resolve-source.ts')],
      ...['--import', file('test/store/processes/resolve-typescript.ts')],
    ],
  })
  await once(child, 'message')
  return child
}

test('a token of a thread that ends in the middle of a stream is renewed, and no event is lost or doubled', async () => {
  const url = await serve({ threadTokens: { keys: [KEY] } })
  const service = clientOf(url, { token: ACME })
  const threadId = await server.thread()
  let tokens = 0
  const browser = clientOf(url, {
    token: async () => {
      tokens += 1
      const made = await service.fetch(`/threads/${threadId}/tokens`, {
        ...{ method: 'POST', headers: { 'Content-Type': 'application/json' } },
        body: JSON.stringify({ access: 'read', seconds: 2 }),
      })
      return ((await made.json()) as { readonly token: string }).token
    },
  })
  const end = new AbortController()
  const names: string[] = []
  const reading = (async () => {
    for await (const event of browser.threads.get(threadId).events({ after: 2, signal: end.signal }))
      if (event.type === 'custom') names.push(event.payload.name)
  })()
  for (let index = 0; index < 8; index += 1) {
    await append(threadId, String(index))
    await new Promise((resolve) => setTimeout(resolve, 600))
  }
  await until('all events', () => names.length === 8)
  end.abort()
  await reading
  expect(names).toEqual(['0', '1', '2', '3', '4', '5', '6', '7'])
  expect(tokens).toBeGreaterThan(1)
})

test('it runs where only fetch is: no module of Node, and few bytes', async () => {
  const entry = fileURLToPath(new URL('../../src/http/index.ts', import.meta.url))
  const bundle = await rolldown({
    input: entry,
    platform: 'browser',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  })
  const { output } = await bundle.generate({
    ...{ minify: true, codeSplitting: false, format: 'iife' },
    name: 'http',
  })
  const [{ code, imports }] = output
  expect(imports).toEqual([])
  expect(code).not.toMatch(/node:|\bBuffer\b|require\(/)
  // What the edge has, and no `process`.
  const edge = { URL, URLSearchParams, Request, Response, Headers, FormData, Blob, TextDecoder, crypto }
  const fetched = runInNewContext(`${code}; http.createHttpClient(options).threads.get('t').send('Hello')`, {
    ...{ ...edge, AbortController, AbortSignal, setTimeout, clearTimeout },
    options: {
      url: 'https://threads.example',
      fetch: async (request: Request) => Response.json({ messageId: request.url }),
    },
  }) as Promise<unknown>
  expect(await fetched).toEqual({ messageId: 'https://threads.example/threads/t/messages' })
  const bytes = gzipSync(code).length
  process.stdout.write(`everthread/http: ${bytes} bytes, compressed\n`)
  expect(bytes).toBeLessThan(13_500)
})
