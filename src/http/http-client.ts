/**
 * Everthread's HTTP API for browsers, the edge and other services: `fetch`, and nothing of Node or Temporal.
 *
 * It owns: the words of `ThreadClient` for what is called often. All other routes are `client.api`.
 */
import { createApi } from './api.js'
import type { Api, Input } from './api.js'
import type { OpenStream } from './event-stream.js'
import type { NewThread, PendingRequest, Thread, ThreadCounts, Webhook } from './generated/api-types.js'
import { HttpError } from './http-error.js'
import { createHttpThread } from './http-thread.js'
import type { HttpThread } from './http-thread.js'
import { createSend, newKey } from './requests.js'
import type { HttpClientOptions, Send } from './requests.js'

type ListQuery = NonNullable<Input<'/threads', 'get'>['query']>
type CountQuery = NonNullable<Input<'/thread-counts', 'get'>['query']>
type RequestsQuery = NonNullable<Input<'/requests', 'get'>['query']>

type Routes = Parameters<typeof createHttpThread>[0]

type Filter<Query> = Omit<Query, 'cursor'>

export interface HttpThreads {
  /** Creates a thread, or finds the one that was created under its `key`, and sends its first message once. */
  create(options: NewThread): Promise<HttpThread>
  /** Makes no call. */
  get(threadId: string): HttpThread
  /** The row of a thread; null if there is none, or it is another account's. */
  find(threadId: string): Promise<Thread | null>
  /** The newest activity first; `limit` is the size of a page. */
  list(filter?: Filter<ListQuery>): AsyncIterable<Thread>
  counts(filter?: CountQuery): Promise<ThreadCounts>
  /** The open requests of all threads, the oldest first. */
  pending(filter?: Filter<RequestsQuery>): AsyncIterable<PendingRequest & { readonly threadId: string }>
  readonly webhooks: HttpWebhooks
}

/** Webhooks that the caller may see; all else that there is about them is in `client.api`. */
export interface HttpWebhooks {
  /** Posts the events from this one on again, in their order and under their ids, also of one that was paused; null: there is none of that id. */
  redeliver(id: string, eventId: string): Promise<Webhook | null>
}

/** All calls throw an HttpError for a refusal, and the reason of their signal when it aborts. */
export interface HttpClient {
  /** Of the server, without a slash at the end. */
  readonly url: string
  readonly threads: HttpThreads
  /** Every route of the OpenAPI document, by its path: `api.get('/agents')`. */
  readonly api: Api
  /** Any route of the server, such as one of your own, with the token; its answer is a success. */
  fetch(path: string, init?: RequestInit): Promise<Response>
}

/** A client of one server. It holds no connection, so there is nothing to close. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  const base = String(options.url).replace(/\/+$/, '')
  const send = createSend(options)
  const api = createApi(base, send)
  const fetch: HttpClient['fetch'] = (path, init) => send(() => new Request(base + path, init))
  const routes: Routes = { api, fetch, open: (threadId) => openStream(base, send, threadId) }
  return { url: base, api, fetch, threads: createThreads(routes) }
}

function openStream(base: string, send: Send, threadId: string): OpenStream {
  return ({ query, headers, signal }) => {
    const search = new URLSearchParams(query).toString()
    const address = `${base}/threads/${encodeURIComponent(threadId)}/events${search === '' ? '' : `?${search}`}`
    return send(() => new Request(address, { headers, signal }), { repeats: 0 })
  }
}

function createThreads(routes: Routes): HttpThreads {
  const { api } = routes
  const get = (threadId: string): HttpThread => createHttpThread(routes, threadId)
  return {
    get,
    async create(body) {
      const headers = { 'idempotency-key': body.key ?? newKey() }
      // An id is a key by itself, and an operator may give both.
      const { threadId } = await api.post('/threads', { body, ...(body.id === undefined && { headers }) })
      return get(threadId)
    },
    find: (threadId) => orNull('thread_not_found', api.get('/threads/{threadId}', { path: { threadId } })),
    async *list(filter = {}) {
      for (let cursor: string | null = ''; cursor !== null;) {
        const place: Pick<ListQuery, 'cursor'> = cursor === '' ? {} : { cursor }
        const { threads, next } = await api.get('/threads', { query: { ...filter, ...place } })
        yield* threads
        cursor = next
      }
    },
    counts: (query = {}) => api.get('/thread-counts', { query }),
    async *pending(filter = {}) {
      for (let cursor: string | null = ''; cursor !== null;) {
        const place: Pick<RequestsQuery, 'cursor'> = cursor === '' ? {} : { cursor }
        const { requests, next } = await api.get('/requests', { query: { ...filter, ...place } })
        yield* requests
        cursor = next
      }
    },
    webhooks: {
      redeliver(webhookId, eventId) {
        // Where it goes on is said, so the same once more is the same.
        const given = { path: { webhookId }, body: { eventId }, isSafe: true }
        return orNull('not_found', api.post('/webhooks/{webhookId}/redeliver', given))
      },
    },
  }
}

/** The answer, or null for a refusal that says so. */
async function orNull<T>(code: string, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (HttpError.isInstance(error) && error.code === code) return null
    throw error
  }
}
