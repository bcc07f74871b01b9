import type { EventScope } from '../protocol/facts.js'
import { closeChild } from '../store/children.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'

interface ClosedChild {
  readonly threadId: string
  readonly reference: string
  /** Temporal's. */
  readonly status: string
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
}

/**
 * A child that closed without a report: its parent's registry and log say so, whatever becomes of it there (T7). What the
 * registry has of its end already stays.
 */
export async function recordClosedChild(tx: Writer, closed: ClosedChild): Promise<void> {
  const { threadId, reference, status, scope, now } = closed
  await closeChild(tx, { parentThreadId: threadId, reference, status, now })
  const event = {
    type: 'subagent.closed',
    scope: { ...scope, childId: reference },
    payload: { reference, status },
  }
  await appendEvents(tx, { threadId, events: [event], now })
}
