import type { JoinedFact } from '../protocol/events.js'
import { ThreadNotFoundError } from '../protocol/errors.js'
import type { StoredEvent } from '../store/event-rows.js'
import { readEvents } from '../store/events.js'
import { readDeltas } from '../store/messages/deltas.js'
import type { StoredDelta } from '../store/messages/deltas.js'
import type { Reader } from '../store/store.js'
import { threadProgress } from '../store/threads/threads.js'
import { joinEvent } from './join-event.js'

/** At most 16 KiB each: what one subscriber holds while its consumer is busy. */
const PAGE = 100

/** What one read gives to all who are at the same place. */
export interface EventPage {
  readonly events: readonly JoinedFact[]
  /** What streams, in the order of arrival. */
  readonly deltas: readonly StoredDelta[]
  /** Of messages among the events: the first attempt whose deltas are of use, which is none once it was created. */
  readonly useful: ReadonlyMap<string, number>
  /** There are more events after these. */
  readonly more: boolean
  readonly closed: boolean
}

export interface ReadEventPage {
  readonly threadId: string
  readonly sequence: number
  /** Null: nothing that streams. */
  readonly delta: number | null
}

/**
 * Deltas are read first: whatever they follow on is in the events read after them. What those events say of a message, that
 * it was created or another attempt began, may be newer than its deltas. @throws ThreadNotFoundError
 */
export async function readEventPage(db: Reader, read: ReadEventPage): Promise<EventPage> {
  const { threadId, sequence, delta } = read
  const deltas = delta === null ? [] : await readDeltas(db, threadId, delta)
  const progress = await threadProgress(db, threadId)
  if (progress === null) throw new ThreadNotFoundError(threadId)
  const { lastSequence, closed } = progress
  const stored =
    lastSequence > sequence ? await readEvents(db, { threadId, after: sequence, limit: PAGE }) : []
  const events: JoinedFact[] = []
  for (const event of stored) events.push(await joinEvent(db, threadId, event))
  return {
    events,
    deltas,
    useful: usefulAttempts(stored),
    more: stored.length === PAGE,
    // Read before the events, so a closed thread's last event is among them.
    closed,
  }
}

function usefulAttempts(events: readonly StoredEvent[]): ReadonlyMap<string, number> {
  const attempts = new Map<string, number>()
  for (const { type, scope, payload } of events) {
    if (scope.messageId === undefined) continue
    const attempt = payload['attempt']
    if (type === 'model.requested' && typeof attempt === 'number') attempts.set(scope.messageId, attempt)
    if (type === 'message.created') attempts.set(scope.messageId, Infinity)
  }
  return attempts
}
