import { createServer } from 'node:http'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createProviderRules } from './provider-rules.js'
import { WIRE_FORMATS } from './provider-wire.js'
import type { WireAnswer } from './provider-wire.js'

/**
 * An answer that is streamed. `ending` says what follows the content instead of the finish: `silent` keeps the
 * connection open, `closed` ends the response in good order, `destroyed` cuts the socket. Without `preamble`
 * nothing but headers comes before the content.
 */
export interface MockAnswer extends WireAnswer {
  readonly ending?: 'finished' | 'silent' | 'closed' | 'destroyed'
  readonly preamble?: boolean
  /** One event whose data is no JSON: before all others, or between preamble and content. */
  readonly corrupt?: 'first' | 'middle'
  /** Milliseconds between preamble and content, and before each further piece of it. */
  readonly pause?: number
  readonly wordPause?: number
}

/** An answer with an HTTP status and the error body that all formats understand. */
export interface MockFailure {
  readonly status: number
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}

export type MockReply = MockAnswer | MockFailure

/** A request as it came over the wire. */
export interface MockRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
  /** Resolves when the connection of this request is over: by our end of the answer, or by the caller's leaving. */
  readonly closed: Promise<'answered' | 'left'>
}

export interface ProviderMock {
  /** Give it as `baseURL` to @ai-sdk/openai, @ai-sdk/anthropic, @ai-sdk/google or @ai-sdk/openai-compatible. */
  readonly url: string
  readonly requests: readonly MockRequest[]
  /** Adds replies to the queue; a request that finds none gets a 400 that says so. */
  reply(...replies: readonly MockReply[]): void
  close(): Promise<void>
}

/** What the mock takes: so many requests in each window of so many milliseconds; it refuses more with 429. */
export interface MockLimit {
  readonly requests: number
  readonly window: number
}

/**
 * Starts an HTTP server that speaks the streams of OpenAI (chat and responses), Anthropic and Google. It refuses what they
 * refuse: see `provider-rules`.
 */
export async function startProviderMock({
  limit = null,
  always = NO_REPLY,
}: { readonly limit?: MockLimit | null; readonly always?: MockReply } = {}): Promise<ProviderMock> {
  const refusalOf = limit === null ? () => null : limited(limit)
  const queue: MockReply[] = []
  const rules = createProviderRules()
  const requests: MockRequest[] = []
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const path = request.url ?? ''
      requests.push({ path, headers: request.headers, body, closed: whenClosed(response) })
      const problem = rules.problemOf(body)
      const refusal = refusalOf() ?? (problem === null ? null : { status: 400, message: problem })
      const reply = refusal ?? queue.shift() ?? always
      if ('status' in reply) fail(response, reply)
      else {
        rules.issued(reply)
        void answer(response, path, reply)
      }
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    reply: (...replies) => void queue.push(...replies),
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      }),
  }
}

const NO_REPLY: MockFailure = { status: 400, message: 'The mock has no reply left.' }

/** Says of each request whether it is refused: windows begin with the first request after the one before. */
function limited({ requests, window }: MockLimit): () => MockFailure | null {
  let begin = -Infinity
  let count = 0
  return () => {
    const now = performance.now()
    if (now >= begin + window) [begin, count] = [now, 0]
    count += 1
    if (count <= requests) return null
    const left = String(Math.ceil(begin + window - now))
    return { status: 429, message: 'Too many requests.', headers: { 'retry-after-ms': left } }
  }
}

const CORRUPT = 'data: {"id": "answer-1", "cho\n\n'

async function answer(response: ServerResponse, path: string, reply: MockAnswer): Promise<void> {
  const format = Object.entries(WIRE_FORMATS).find(([suffix]) => path.endsWith(suffix))?.[1]
  if (!format) {
    fail(response, { status: 404, message: `The mock knows no format for ${path}.` })
    return
  }
  const { preamble, content, finish } = format(reply)
  const { ending = 'finished' } = reply
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.flushHeaders()
  if (reply.corrupt === 'first') response.write(CORRUPT)
  if (reply.preamble !== false) for (const event of preamble) response.write(event)
  if (reply.corrupt === 'middle') response.write(CORRUPT)
  if (reply.pause !== undefined) await sleep(reply.pause)
  for (const event of content) {
    if (reply.wordPause !== undefined) await sleep(reply.wordPause)
    response.write(event)
  }
  if (ending === 'finished') for (const event of finish) response.write(event)
  if (ending === 'finished' || ending === 'closed') response.end()
  // The socket goes only after what was written has left, so that the cut comes in the midst of the answer.
  else if (ending === 'destroyed') response.write('\n', () => response.destroy())
}

function fail(response: ServerResponse, { status, message, headers = {} }: MockFailure): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  const error = { type: 'mock_error', message, code: status, status: 'INVALID_ARGUMENT' }
  response.end(JSON.stringify({ type: 'error', error }))
}

function whenClosed(response: ServerResponse): Promise<'answered' | 'left'> {
  return new Promise((resolve) => {
    response.once('close', () => {
      resolve(response.writableFinished ? 'answered' : 'left')
    })
  })
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}
