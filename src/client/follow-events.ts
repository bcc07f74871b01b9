import type { ThreadEvent } from '../protocol/events.js'
import { ThreadNotFoundError } from '../protocol/thread-error.js'
import { readDeltas } from '../store/deltas.js'
import { readEvents } from '../store/events.js'
import type { StoredEvent } from '../store/events.js'
import { threadProgress } from '../store/thread-progress.js'
import type { Reader } from '../store/store.js'
import type { ClientContext } from './client-context.js'
import { createDeltaCursor } from './delta-cursor.js'
import type { DeltaCursor } from './delta-cursor.js'
import { deltaEvent, joinEvent } from './join-event.js'
import { watchThread } from './store-change.js'

const PAGE = 100

/** Where the events begin, and how long they come. */
export interface FollowEvents {
  /** A sequence: events come from the next one on. @default 0 */
  readonly after?: number
  /** False: ends with the last event there is, without deltas. @default true */
  readonly follow?: boolean
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal
}

/**
 * The events of a thread, without a gap and in order, and what streams in between. It is pulled: a slow reader holds up
 * nobody, and gets longer pieces of text. Ends after `thread.closed`. @throws ThreadNotFoundError
 */
export async function* followEvents(
  context: ClientContext,
  threadId: string,
  { after = 0, follow = true, signal }: FollowEvents,
): AsyncGenerator<ThreadEvent, void, undefined> {
  const store = await context.store()
  const deltas = createDeltaCursor()
  const watch = watchThread(store, threadId)
  let sequence = after
  try {
    for (;;) {
      watch.reset()
      const page = await store.read((db) =>
        readPage(db, { threadId, after: sequence, deltas: follow ? deltas : null }),
      )
      for (const event of page.events) {
        if (aborted(signal)) return
        if (event.sequence !== undefined) sequence = event.sequence
        yield event
      }
      if (page.more) continue
      if (page.closed || !follow) return
      await watch.changed({ signal })
      if (aborted(signal)) return
    }
  } finally {
    watch.end()
  }
}

interface Page {
  readonly events: readonly ThreadEvent[]
  readonly more: boolean
  readonly closed: boolean
}

/**
 * Deltas are read first: whatever they follow on is in the events read after them, and a message among those events has
 * no use for its deltas any more.
 */
async function readPage(
  db: Reader,
  { threadId, after, deltas }: { threadId: string; after: number; deltas: DeltaCursor | null },
): Promise<Page> {
  const streamed = deltas === null ? [] : await readDeltas(db, threadId, deltas.after)
  const progress = await threadProgress(db, threadId)
  if (progress === null) throw new ThreadNotFoundError(threadId)
  const { lastSequence, closed } = progress
  const stored = lastSequence > after ? await readEvents(db, { threadId, after, limit: PAGE }) : []
  const events: ThreadEvent[] = []
  for (const event of stored) events.push(await joinEvent(db, threadId, event))
  // Before the last page the deltas are too far ahead of the events; they are read again with it.
  const more = stored.length === PAGE
  if (!more && deltas !== null) events.push(...deltas.take(streamed, createdIn(stored)).map(deltaEvent))
  // Read before the events, so a closed thread's last event is among them.
  return { events, more, closed }
}

/** A call, for the compiler takes a property that it saw once as settled. */
function aborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

function createdIn(events: readonly StoredEvent[]): ReadonlySet<string> {
  const created = events.filter(({ type }) => type === 'message.created')
  return new Set(created.flatMap(({ scope }) => scope.messageId ?? []))
}
