/**
 * Answers of server-sent events.
 *
 * Owns: how long a reader may listen, and the response. Does not own: the frames, and how they are pulled (`client/events/pulled-stream.ts`).
 * Invariant: a stream ends with its reader, the token of its caller, the longest time of a stream, and the server, whichever is first.
 */
import { pulledStream } from '../client/events/pulled-stream.js'
import { logBrokenAnswer } from './request-log.js'
import type { ServerContext, ThreadContext } from './server-context.js'
import { millisecondsLeft } from './tokens/thread-tokens.js'

export const STREAM_HEADERS = { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' }

/** The frames of a stream whose end this is. */
interface Streamed {
  readonly frames: AsyncIterator<string, void>
  /** A frame that is already read. */
  readonly first?: IteratorResult<string, void> | undefined
  /** @default those of server-sent events */
  readonly headers?: Readonly<Record<string, string>>
}

/** A stream that its reader is about to get. */
interface OpenStream {
  /** Aborts at its end. */
  readonly signal: AbortSignal
  respond(streamed: Streamed): Response
}

/** Begins the time of a stream, which may be read before it is answered. */
export function openStream(server: ServerContext, context: ThreadContext): OpenStream {
  const { heartbeat, longestStream, closing } = server
  const end = new AbortController()
  const longest = Math.min(longestStream, millisecondsLeft(context.get('caller')))
  const signal = AbortSignal.any([end.signal, closing, AbortSignal.timeout(longest)])
  return {
    signal,
    respond({ frames, first, headers = STREAM_HEADERS }) {
      const onFailure = (failure: unknown): void => logBrokenAnswer(server, context, failure)
      const onEnd = (): void => end.abort()
      const body = pulledStream(frames, { first, heartbeat, signal, onEnd, onFailure })
      return new Response(body, { headers })
    },
  }
}
