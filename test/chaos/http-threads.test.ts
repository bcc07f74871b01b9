import { expect, test } from 'vitest'
import { fact } from '../../src/protocol/facts.js'
import { eventFrames } from '../../chaos/processes/event-frames.js'
import { HttpError, refusalOf } from '../../chaos/processes/http-error.js'
import { httpThreads } from '../../chaos/processes/http-threads.js'
import { isPassing } from '../../chaos/processes/is-passing.js'
import type { Thread } from '../../chaos/processes/threads.js'
import {
  MessageRejectedError,
  RequestNotFoundError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from '../../src/index.js'
import { serveThreads } from '../../src/server/index.js'
import { appendEvents } from '../../src/store/events.js'
import { updateThread } from '../../src/store/threads/threads.js'
import { servedFixture } from '../client/client-fixture.js'
import { startCuttingProxy } from '../support/cutting-proxy.js'
import { freePort } from '../support/free-port.js'
import { until } from '../support/until.js'

const TOKEN = 'token-of-an-operator'
const fixture = servedFixture()

/** The package's server before the fixture's store, behind a proxy whose connections can be cut. */
async function serving(port = 0) {
  const server = await serveThreads({ client: fixture.threads, tokens: [{ token: TOKEN }], port })
  const proxy = await startCuttingProxy(server.url)
  const threads = httpThreads({ url: proxy.endpoint, token: TOKEN })
  return {
    proxy,
    threads,
    async [Symbol.asyncDispose]() {
      await proxy.stop()
      await server.close()
    },
  }
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

const message = (id: string) => ({
  id,
  content: `Words of ${id}`,
  attachments: [{ name: 'a.bin', mimeType: 'application/octet-stream', data: new Uint8Array([1, 2, 3]) }],
})

test('a thread is made, and told, once under its id, with its files', async () => {
  await using api = await serving()
  await api.threads.create({ agent: 'support', id: 'h' })
  await api.threads.create({ agent: 'support', id: 'h' })
  const thread = api.threads.get('h')
  const sent = await thread.send(message('m'))
  expect(await thread.send(message('m'))).toEqual(sent)
  const { messages } = await fixture.threads.get('h').messages()
  expect(messages.map(({ id, content }) => [id, content])).toEqual([[sent.messageId, 'Words of m']])
  const [file] = messages[0]?.attachments ?? []
  const bytes = await fixture.threads.get('h').readFile(file?.path ?? '')
  expect([...new Uint8Array(bytes ?? new ArrayBuffer(0))]).toEqual([1, 2, 3])
})

test('stop and terminate arrive', async () => {
  await using api = await serving()
  await api.threads.create({ agent: 'support', id: 'e' })
  await api.threads.get('e').stop()
  await api.threads.get('e').terminate({ reason: 'by plan' })
  await expect(api.threads.get('e').send(message('m'))).rejects.toBeInstanceOf(ThreadTerminatedError)
})

test('a refusal is the error that the client throws, and does not pass', async () => {
  await using api = await serving()
  await api.threads.create({ agent: 'support', id: 'r' })
  const thread = api.threads.get('r')
  const refusals = [
    [thread.respond('nobody', { approved: true }), RequestNotFoundError],
    [thread.send({ ...message('m'), content: '', attachments: [] }), MessageRejectedError],
    [api.threads.get('none').stop(), ThreadNotFoundError],
  ] as const
  for (const [refused, kind] of refusals) {
    const error = await refused.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(kind)
    expect(isPassing(error)).toBe(false)
  }
  const stranger = httpThreads({ url: api.proxy.endpoint, token: 'of somebody else' })
  const error: unknown = await stranger
    .get('r')
    .stop()
    .catch((thrown: unknown) => thrown)
  expect(String(error)).toContain('401 unauthorized')
  expect(isPassing(error)).toBe(false)
})

test('a connection that is refused or cut passes', async () => {
  const nobody = httpThreads({ url: `http://127.0.0.1:${await freePort()}`, token: TOKEN })
  expect(
    isPassing(
      await nobody
        .get('c')
        .stop()
        .catch((error: unknown) => error),
    ),
  ).toBe(true)

  await using api = await serving()
  await api.threads.create({ agent: 'support', id: 'c' })
  api.proxy.heal()
  api.proxy.cut('down', 20)
  const cut: unknown = await api.threads
    .get('c')
    .send(message('m'))
    .catch((error: unknown) => error)
  expect(isPassing(cut)).toBe(true)
  api.proxy.heal()
  await api.threads.get('c').send(message('m'))
  expect((await fixture.threads.get('c').messages()).messages).toHaveLength(1)
})

test('events come without a gap or a double through a cut stream', async () => {
  await using api = await serving()
  await api.threads.create({ agent: 'support', id: 's' })
  const names = Array.from({ length: 40 }, (_, index) => `event ${index}`)
  await append('s', ...names)
  const seen: number[] = []
  let after = '0'
  let cuts = 0
  const follow = async (thread: Thread): Promise<void> => {
    for (;;)
      try {
        for await (const event of thread.events({ after })) {
          seen.push(event.sequence ?? -1)
          after = event.cursor
        }
        return
      } catch (error) {
        expect(isPassing(error)).toBe(true)
        cuts += 1
      }
  }
  api.proxy.heal()
  // In the middle of an event: each stream gets some further, and breaks.
  api.proxy.cut('down', 2_500, 2)
  const following = follow(api.threads.get('s'))
  await until('the last event', () => seen.length === 42)
  await close('s')
  await following
  expect(seen).toEqual(Array.from({ length: 43 }, (_, index) => index + 1))
  expect(cuts).toBe(2)
})

test('what another server says of one that is away passes', async () => {
  const passes = (status: number, body: string) => isPassing(refusalOf(status, body, { threadId: 't' }))
  expect(passes(502, '<html>Bad Gateway</html>')).toBe(true)
  expect(passes(503, JSON.stringify({ error: { code: 'no_worker', message: 'none' } }))).toBe(true)
  expect(passes(500, JSON.stringify({ error: { code: 'internal', message: 'no' } }))).toBe(false)
  expect(passes(429, JSON.stringify({ error: { code: 'rate_limited', message: 'wait' } }))).toBe(false)
  expect(isPassing(new HttpError(null, 'cut'))).toBe(true)
})

test('frames are read from pieces that end anywhere; one that is cut is none', async () => {
  const event = (sequence: number) => ({ cursor: String(sequence), sequence, text: 'ü' })
  const frame = (sequence: number) =>
    `id: ${sequence}\nevent: custom\ndata: ${JSON.stringify(event(sequence))}\n\n`
  const bytes = new TextEncoder().encode(`: \n\n${frame(1)}${frame(2)}: \n\n${frame(3).slice(0, -1)}`)
  const pieces = Array.from({ length: Math.ceil(bytes.length / 3) }, (_, index) =>
    bytes.slice(index * 3, index * 3 + 3),
  )
  const ids: string[] = []
  for await (const { id, event: read } of eventFrames({ body: ReadableStream.from(pieces) })) {
    ids.push(id)
    expect(read).toEqual(event(Number(id)))
  }
  expect(ids).toEqual(['1', '2'])
})
