import type { EventScope } from '../protocol/facts.js'
import { closeChild, findChild, findChildName } from '../store/children.js'
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
  const closes = await closeChild(tx, { parentThreadId: threadId, reference, status, now })
  const child = closes ?? (await findChild(tx, threadId, reference))
  const event = {
    type: 'subagent.closed',
    scope: { ...scope, childId: reference },
    payload: { reference, name: await findChildName(tx, { reference }, child), status },
  }
  await appendEvents(tx, { threadId, events: [event], now })
}
