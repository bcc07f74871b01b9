import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterEach, expect, test } from 'vitest'

import type { ThreadEvent } from '../../protocol/events.js'
import { createParser, followEvents } from './event-stream.js'
import type { StreamState } from './event-stream.js'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

type Handler = (response: ServerResponse, request: IncomingMessage, visit: number) => void

/** Follows a real server's events until they end; each visit of the stream is handled by itself. */
async function follow(handle: Handler, signal = new AbortController().signal) {
  const visits: (string | undefined)[] = []
  server = createServer((request, response) => {
    visits.push(request.headers['last-event-id'] as string | undefined)
    handle(response, request, visits.length)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const events: ThreadEvent[] = []
  const states: StreamState[] = []
  await followEvents({
    ...{
      url: `http://127.0.0.1:${port}/`,
      after: '5',
      signal,
      patience: { first: 5, most: 20, silence: 500 },
    },
    headers: () => ({ Authorization: 'Bearer token' }),
    onEvents: (came) => events.push(...came),
    onState: (state) => states.push(state),
  })
  return { visits, cursors: events.map(({ cursor }) => cursor), states }
}

const frame = (cursor: string): string => `id: ${cursor}\nevent: x\ndata: ${JSON.stringify({ cursor })}\n\n`
const stream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

test('a stream that breaks off goes on behind its last event', async () => {
  const { visits, cursors, states } = await follow((response, { headers }, visit) => {
    expect(headers.authorization).toBe('Bearer token')
    if (visit === 1) {
      // In the middle of an event, which comes whole on the next visit.
      stream(response).end(frame('6') + frame('7') + frame('8').slice(0, -4))
    } else if (visit === 2) response.writeHead(503).end()
    else if (visit === 3) stream(response).end(frame('8'))
    else response.writeHead(204).end()
  })
  expect(visits).toEqual(['5', '7', '7', '8'])
  expect(cursors).toEqual(['6', '7', '8'])
  expect(states.filter((state) => state === 'waiting')).toHaveLength(3)
  expect(states.at(-1)).toBe('ended')
})

test('a stream that is silent for too long is begun anew', async () => {
  const { visits } = await follow((response, _request, visit) => {
    if (visit === 1) stream(response).write(': \n\n')
    else response.writeHead(204).end()
  })
  expect(visits).toEqual(['5', '5'])
})

test.each([401, 403, 404, 400])('a refusal with %i ends it', async (status) => {
  const { visits, states } = await follow((response) => void response.writeHead(status).end())
  expect([visits.length, states.at(-1)]).toEqual([1, 'refused'])
})

test('an abort ends it while it waits', async () => {
  const end = new AbortController()
  const { visits } = await follow((response) => {
    response.writeHead(503).end()
    end.abort()
  }, end.signal)
  expect(visits.length).toBe(1)
})

test('events are read whole, wherever the text is cut', () => {
  const text = `: \n\n${frame('1')}${frame('2')}`
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parse = createParser()
    const events = [...parse(text.slice(0, cut)), ...parse(text.slice(cut))]
    expect(events.map(({ cursor }) => cursor)).toEqual(['1', '2'])
  }
})
