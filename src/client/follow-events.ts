import type { ThreadEvent } from '../protocol/events.js'
import { LIMITS } from '../protocol/limits.js'
import type { Store } from '../store/store.js'
import type { ClientContext } from './client-context.js'
import { positionAfter } from './event-cursor.js'
import { readEventPage } from './event-page.js'
import { createEventStream } from './event-stream.js'
import type { EventStream } from './event-stream.js'
import { joinFeed } from './thread-feed.js'

/** Where the events begin, and how long they come. */
export interface FollowEvents {
  /** A sequence, or the `cursor` of an event: events come from the next one on. @default 0 */
  readonly after?: number | string
  /** False: ends with the last event there is, without deltas. @default true */
  readonly follow?: boolean
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal
}

/**
 * The events of a thread, without a gap and in order, and what streams in between. It is pulled: a slow reader holds up
 * nobody, holds one page, and gets longer pieces of text. Ends after `thread.closed`.
 * @throws ConfigError for an `after` that is none; ThreadNotFoundError
 */
export async function* followEvents(
  context: ClientContext,
  threadId: string,
  { after = 0, follow = true, signal }: FollowEvents,
): AsyncGenerator<ThreadEvent, void, undefined> {
  const stream = createEventStream(positionAfter(after))
  const store = await context.store()
  const reading = { store, threadId, stream }
  for await (const event of follow ? following(reading, signal) : recorded(reading)) {
    if (aborted(signal)) return
    yield event
  }
}

interface Reading {
  readonly store: Store
  readonly threadId: string
  readonly stream: EventStream
}

async function* following(
  { store, threadId, stream }: Reading,
  signal: AbortSignal | undefined,
): AsyncGenerator<ThreadEvent, void, undefined> {
  const feed = joinFeed(store, threadId)
  try {
    for (;;) {
      const { version } = feed
      const page = await feed.read(stream.position)
      yield* stream.take(page)
      if (page.more) continue
      if (page.closed) return
      if (stream.gap === 'again') continue
      await feed.changed(version, stream.gap === 'waits' ? soon(signal) : signal)
      if (aborted(signal)) return
    }
  } finally {
    feed.leave()
  }
}

/** When that one aborts, and in a second: what fills a gap may have been told before it could be read. */
function soon(signal: AbortSignal | undefined): AbortSignal {
  return AbortSignal.any([AbortSignal.timeout(LIMITS.deltaLook), ...(signal === undefined ? [] : [signal])])
}

async function* recorded({ store, threadId, stream }: Reading): AsyncGenerator<ThreadEvent, void, undefined> {
  for (;;) {
    const { sequence } = stream.position
    const page = await store.read((db) => readEventPage(db, { threadId, sequence, delta: null }))
    yield* stream.take(page)
    if (!page.more) return
  }
}

/** A call, for the compiler takes a property that it saw once as settled. */
function aborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}
