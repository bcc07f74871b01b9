import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Context } from 'hono'
import type { ThreadClient } from '../client/thread-client.js'
import type { Caller as PolicyCaller } from '../policy/approval.js'

/** `read`: to look at the thread and those below it. `write`: to talk to it, too. */
export type TokenAccess = 'read' | 'write'

/** What a token of one thread opens. */
interface ThreadAccess {
  readonly threadId: string
  readonly access: TokenAccess
  /** Seconds since 1970. */
  readonly expiresAt: number
}

/** The authenticated caller of a request. */
export interface Caller extends PolicyCaller {
  /** The account whose threads it may see; null: an operator, who may see all threads. */
  readonly account: string | null
  /** Names the counter of its rate limit; never the token itself. */
  readonly rateKey: string
  /** Set for a token of one thread: it opens that alone. */
  readonly thread?: ThreadAccess
}

/** The values that middleware keeps with each request. */
export interface ServerEnv {
  readonly Variables: {
    readonly requestId: string
    /** Set for every route but the public ones. */
    readonly caller: Caller
    /** The error behind an answer of 500 or above, for the log. */
    readonly failure: unknown
    /** The request creates something and has no key, so a retry creates a second one. */
    readonly keyless?: boolean
  }
}

export type ThreadApp = OpenAPIHono<ServerEnv>
export type ThreadContext = Context<ServerEnv>

/** The parts that the routes of one server share. */
export interface ServerContext {
  readonly client: ThreadClient
  readonly log: (entry: RequestEntry) => void
  /** Runs what sends a message to this thread, which need not exist yet. @throws ProblemError 429 above a limit of the caller's account */
  readonly admitMessage: <T>(caller: Caller, threadId: string, work: () => Promise<T>) => Promise<T>
  /** The longest request without files. */
  readonly requestBytes: number
  /** Milliseconds between two signs of life on a quiet stream of events. */
  readonly heartbeat: number
  /** Milliseconds until a stream of events ends. */
  readonly longestStream: number
  /** Aborts when the server closes, which ends streams of events. */
  readonly closing: AbortSignal
}

/** One answered request, without content (T5): no path as it came, because it may name a file, and no message of an error. */
export interface RequestEntry {
  /** ISO 8601. */
  readonly at: string
  readonly level: 'info' | 'error'
  readonly requestId: string
  readonly method: string
  /** The pattern of the route: `/threads/:threadId/messages`. */
  readonly route: string
  readonly threadId?: string
  readonly account?: string
  readonly status: number
  /** Time until the answer begins; a stream lasts longer. */
  readonly milliseconds: number
  /** For a status of 500 or above: the kind of the error and where it was thrown. */
  readonly error?: { readonly name: string; readonly code?: string; readonly frames: readonly string[] }
}
