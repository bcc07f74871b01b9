import type { EventScope } from '../protocol/facts.js'
import { findChild, updateChild } from '../store/children.js'
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

/** A child that closed without a report: its parent's registry and log say so, whatever becomes of it there (T7). */
export async function recordClosedChild(tx: Writer, closed: ClosedChild): Promise<void> {
  const { threadId, reference, status, scope, now } = closed
  const key = { parentThreadId: threadId, reference }
  const closedAt = (await findChild(tx, threadId, reference))?.closed_at ?? now
  await updateChild(tx, key, { status, closed_at: closedAt })
  const event = {
    type: 'subagent.closed',
    scope: { ...scope, childId: reference },
    payload: { reference, status },
  }
  await appendEvents(tx, { threadId, events: [event], now })
}
