import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { ThreadClient } from '../client/thread-client.js'

/** Who calls. */
export interface Caller {
  /** Whose threads there are for it; null: an operator, for whom there are all. */
  readonly account: string | null
  /** Whose rate is counted; never the token itself. */
  readonly rateKey: string
}

/** What each request has beside itself. */
export interface ServerEnv {
  readonly Variables: {
    readonly requestId: string
    /** Of every route but the public ones. */
    readonly caller: Caller
    /** What became an answer of 500 and above, for the log. */
    readonly failure: unknown
    /** It makes something and has no key: again it makes another one. */
    readonly keyless?: boolean
  }
}

export type ThreadApp = OpenAPIHono<ServerEnv>
export type ThreadContext = Context<ServerEnv>

/** What the routes of one server share. */
export interface ServerContext {
  readonly client: ThreadClient
  readonly log: (entry: RequestEntry) => void
  /** Milliseconds between two signs of life on a stream of events, and how long one lasts. */
  readonly heartbeat: number
  readonly longestStream: number
  /** Aborts when the server closes: streams end then. */
  readonly closing: AbortSignal
}

/** One answered request. Holds no content (T5): neither path as it came, for it may be a file's, nor words of errors. */
export interface RequestEntry {
  /** ISO 8601. */
  readonly at: string
  readonly level: 'info' | 'error'
  readonly requestId: string
  readonly method: string
  /** Of the route: `/threads/:threadId/messages`. */
  readonly route: string
  readonly threadId?: string
  readonly account?: string
  readonly status: number
  /** Until the answer begins: a stream goes on after it. */
  readonly milliseconds: number
  /** Of a status of 500 and above: what was thrown, and where. */
  readonly error?: { readonly name: string; readonly code?: string; readonly frames: readonly string[] }
}
