import { createServer } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterEach, expect, test } from 'vitest'

import { until } from '../../test/support/until.js'
import { createParser, followEvents } from './event-stream.js'
import type { FollowEvents, OpenStream, StreamedEvent, StreamState } from './event-stream.js'
import type { HttpError } from './http-error.js'
import { createSend } from './requests.js'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

type Handler = (response: ServerResponse, request: IncomingMessage, visit: number) => void

interface Following extends FollowEvents {
  readonly snapshot?: boolean
  readonly token?: () => string
  /** Returns true to take no more. */
  readonly onEvent?: (event: StreamedEvent) => boolean
}

/** Follows a real server's events until they end; each visit of the stream is handled by itself. */
async function follow(handle: Handler, { token, onEvent, ...options }: Following = {}) {
  const visits: string[] = []
  server = createServer((request, response) => {
    const { search } = new URL(request.url ?? '', 'http://x')
    visits.push(`${String(request.headers['last-event-id'] ?? '')}${search}`)
    handle(response, request, visits.length)
  })
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const send = createSend({ url: '', token: token ?? 'token' })
  const open: OpenStream = ({ query, headers, signal }) => {
    const address = `http://127.0.0.1:${port}/?${new URLSearchParams(query).toString()}`
    return send(() => new Request(address, { headers, signal }), { repeats: 0 })
  }
  const cursors: string[] = []
  const states: StreamState[] = []
  const patience = { first: 5, most: 20, silence: 3_000 }
  const onState = (state: StreamState): void => void states.push(state)
  try {
    for await (const events of followEvents(open, { after: '5', onState, ...options }, patience)) {
      cursors.push(...events.map(({ cursor }) => cursor))
      if (events.some((event) => onEvent?.(event) === true)) break
    }
    return { visits, cursors, states, failure: null }
  } catch (failure) {
    return { visits, cursors, states, failure: failure as HttpError }
  }
}

const frame = (cursor: string, text = ''): string =>
  `id: ${cursor}\nevent: x\ndata: ${JSON.stringify({ cursor, text })}\n\n`
function refuse(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, headers).end(JSON.stringify({ error: { code: 'no', message: 'No.' } }))
}

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

test.each([401, 403, 404, 400])('a refusal with %i ends it, with the error of the server', async (status) => {
  const { visits, failure } = await follow((response) => refuse(response, status))
  expect([visits.length, failure?.status, failure?.code]).toEqual([1, status, 'no'])
})

test('a server that asks to wait is asked again then', async () => {
  const begun = performance.now()
  const { visits } = await follow((response, _request, visit) => {
    if (visit === 1) refuse(response, 429, { 'retry-after': '1' })
    else response.writeHead(204).end()
  })
  expect(visits.length).toBe(2)
  expect(performance.now() - begun).toBeGreaterThan(700)
})

test('a token that is over in the middle is renewed, and nothing is lost or doubled', async () => {
  let tokens = 0
  const { visits, cursors } = await follow(
    (response, { headers }, visit) => {
      // The first token opens one stream, and then none.
      if (headers.authorization === 'Bearer 1' && visit > 1) refuse(response, 401)
      else if (visit === 1) stream(response).end(frame('6') + frame('7'))
      else if (visit === 3) stream(response).end(frame('8'))
      else response.writeHead(204).end()
    },
    { token: () => String((tokens += 1)) },
  )
  expect([visits, cursors, tokens]).toEqual([['5', '7', '7', '8'], ['6', '7', '8'], 2])
})

test('a connection that is cut in the middle of a character loses and doubles nothing', async () => {
  const [first, last] = [frame('6'), frame('7', 'ü\u{1F3D5}')]
  const bytes = Buffer.from(first + last)
  const at = bytes.indexOf(Buffer.from('ü'))
  // Within each of the two characters, of two and four bytes.
  for (const cut of [at + 1, at + 3, at + 4, at + 5]) {
    const { cursors } = await follow((response, { headers }, visit) => {
      const seen = headers['last-event-id']
      if (visit === 1) stream(response).write(bytes.subarray(0, cut), () => response.destroy())
      else if (seen === '5' || seen === '6') stream(response).end(seen === '5' ? bytes : last)
      else response.writeHead(204).end()
    })
    server?.closeAllConnections()
    server?.close()
    expect(cursors).toEqual(['6', '7'])
  }
})

test('only the first visit asks for a snapshot', async () => {
  const { visits } = await follow(
    (response, _request, visit) => {
      if (visit === 1) refuse(response, 503)
      else if (visit < 4) stream(response).end(frame(String(visit)))
      else response.writeHead(204).end()
    },
    { snapshot: true },
  )
  expect(visits).toEqual(['5?snapshot=true', '5?snapshot=true', '2', '3'])
})

test('a stream of what is stored ends once nothing is left, also where the server ends it before', async () => {
  const { visits, cursors } = await follow(
    (response, _request, visit) => void stream(response).end(visit < 3 ? frame(String(visit)) : ': \n\n'),
    { follow: false },
  )
  expect([visits, cursors]).toEqual([
    ['5?follow=false', '1?follow=false', '2?follow=false'],
    ['1', '2'],
  ])
})

test('an abort ends it while it waits, and while it reads', async () => {
  const waiting = new AbortController()
  const { visits } = await follow(
    (response) => {
      response.writeHead(503).end()
      waiting.abort()
    },
    { signal: waiting.signal },
  )
  expect(visits.length).toBe(1)
  const reading = new AbortController()
  const { cursors, failure } = await follow((response) => void stream(response).write(frame('6')), {
    signal: reading.signal,
    onEvent: () => {
      setTimeout(() => reading.abort(), 20)
      return false
    },
  })
  expect([cursors, failure]).toEqual([['6'], null])
})

test('a reader that takes no more leaves no connection open', async () => {
  let isClosed = false
  await follow(
    (response) => {
      response.on('close', () => (isClosed = true))
      stream(response).write(frame('6'))
    },
    { onEvent: () => true },
  )
  await until('the connection is closed', () => isClosed)
})

test('events are read whole, wherever the text is cut', () => {
  const text = `: \n\n${frame('1')}${frame('2')}`
  for (let cut = 0; cut <= text.length; cut += 1) {
    const parse = createParser()
    const events = [...parse(text.slice(0, cut)), ...parse(text.slice(cut))]
    expect(events.map(({ cursor }) => cursor)).toEqual(['1', '2'])
  }
})
