import { setTimeout as delay } from 'node:timers/promises'

import { eventFrames } from './event-frames.js'
import { HttpError, refusalOf } from './http-error.js'
import type { Asked } from './http-error.js'
import type { NewThread, Thread } from './threads.js'

/** Where the API is, and who may call it. */
export interface Api {
  readonly url: string
  /** Of an operator. */
  readonly token: string
}

/** Threads as an application in any language has them: over HTTP, under keys, with an event stream that it comes back to. */
export interface HttpThreads {
  /** HTTP has no limits of threads. */
  create(thread: Omit<NewThread, 'limits'>): Promise<void>
  get(threadId: string): Thread
}

interface Request extends Asked {
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
}

type Ask = (request: Request) => Promise<Response>

/** Before a stream that has ended is asked for again, and between two looks at a snapshot. */
const PAUSE = 300

export function httpThreads({ url, token }: Api): HttpThreads {
  /** @throws HttpError, and what the package's client throws for the same refusal */
  const ask: Ask = async ({ path, body, headers = {}, ...asked }) => {
    const init =
      body === undefined
        ? { headers: {} }
        : {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify(body),
          }
    const response = await whole(() =>
      fetch(`${url}${path}`, {
        ...init,
        headers: { ...init.headers, ...headers, authorization: `Bearer ${token}` },
      }),
    )
    if (response.ok) return response
    throw refusalOf(response.status, await whole(() => response.text()), asked)
  }

  return {
    async create({ agent, id }) {
      await spent(await ask({ threadId: id, path: '/threads', body: { agent, id } }))
    },
    get: (threadId) => httpThread(ask, threadId),
  }
}

function httpThread(ask: Ask, threadId: string): Thread {
  const path = `/threads/${encodeURIComponent(threadId)}`
  const post = async (below: string, body: object, requestId?: string): Promise<unknown> => {
    const asked = { threadId, ...(requestId !== undefined && { requestId }) }
    return spent(await ask({ ...asked, path: `${path}/${below}`, body }))
  }
  return {
    way: 'http',
    async send({ id, content, attachments }) {
      const files = attachments.map(({ data, ...file }) => ({
        ...file,
        data: Buffer.from(data).toString('base64'),
      }))
      // Of our own server, as its document has it.
      return (await post('messages', { key: id, content, attachments: files })) as {
        readonly messageId: string
      }
    },
    async stop() {
      await post('stop', {})
    },
    async terminate(options) {
      await post('terminate', options)
    },
    async waitUntilIdle({ timeout }) {
      const until = Date.now() + timeout
      while (!(await isIdle())) {
        if (Date.now() >= until) throw new Error(`Expected ${threadId} to be idle within ${timeout} ms.`)
        await delay(PAUSE)
      }
    },
    respond: (requestId, answer) => post(`requests/${encodeURIComponent(requestId)}`, answer, requestId),
    events: ({ after }) => eventsBehind(after),
  }

  async function isIdle(): Promise<boolean> {
    // As above.
    const { stale, run, queue } = (await spent(await ask({ threadId, path: `${path}/snapshot` }))) as {
      readonly stale: boolean
      readonly run: object | null
      readonly queue: readonly object[]
    }
    return !stale && run === null && queue.length === 0
  }

  async function* eventsBehind(after: string) {
    for (let last = after; ; await delay(PAUSE)) {
      const headers = { 'last-event-id': last }
      const response = await ask({ threadId, path: `${path}/events`, headers })
      // The thread is closed, and its last event was seen. A stream that only ends may go on.
      if (response.status === 204) return
      const frames = eventFrames(response)[Symbol.asyncIterator]()
      for (;;) {
        const next = await whole(() => frames.next())
        if (next.done === true) break
        last = next.value.id
        yield next.value.event
      }
    }
  }
}

/** The body of an answer, which is JSON or nothing. */
function spent(response: Response): Promise<unknown> {
  return whole(async () => {
    const text = await response.text()
    return text === '' ? null : (JSON.parse(text) as unknown)
  })
}

/** Whatever breaks on the way is a connection that was refused, reset or cut. */
async function whole<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw new HttpError(null, `Expected a whole answer, got none: ${wordsOf(error)}`, error)
  }
}

/** What fetch says, and what it says of it. */
function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}, ${error.cause.message}` : error.message
}
