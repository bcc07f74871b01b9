import type { CheckChildrenAnswer, CheckChildrenInput } from '../../protocol/end-activities.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ChildReport } from '../../protocol/messages.js'
import type { Micros } from '../../protocol/time.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { closeChild, findChild, findChildName, listMissedReports } from '../../store/threads/children.js'
import { findCloseStatus, withHeartbeats } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'

/**
 * The activity `checkChildren`: finds children whose close event can no longer reach their parent, and reports that did
 * not reach it (T7). A large answer (T10) ends before the child whose reports do not fit; the next check begins there.
 */
export async function checkChildren(
  { store }: Pick<ActivityDependencies, 'store'>,
  { references, taken }: CheckChildrenInput,
): Promise<CheckChildrenAnswer> {
  return withHeartbeats(async () => {
    const closed: { reference: string; status: string }[] = []
    const missed: ChildReport[] = []
    let bytes = 0
    for (const [index, reference] of references.entries()) {
      const status = await findCloseStatus(reference)
      // Reports from before the close come first.
      const reports = await store.read((db) => listMissedReports(db, reference, taken[index] ?? 0))
      const found = status === null ? [] : [{ reference, status }]
      bytes += Buffer.byteLength(JSON.stringify([reports, found]))
      if (index > 0 && bytes > LIMITS.operationBytes)
        return { type: 'checked', closed, ...(missed.length > 0 && { missed }), looked: index }
      missed.push(...reports)
      closed.push(...found)
    }
    return { type: 'checked', closed, ...(missed.length > 0 && { missed }) }
  })
}

interface ClosedChild {
  readonly threadId: string
  readonly reference: string
  /** Temporal's status. */
  readonly status: string
  readonly scope: EventScope
  readonly now: Micros
}

/**
 * Records a child that closed without a report in its parent's registry and event log (T7). An end that the registry
 * already has is kept.
 */
export async function recordClosedChild(tx: Writer, closed: ClosedChild): Promise<void> {
  const { threadId, reference, status, scope, now } = closed
  const closes = await closeChild(tx, { parentThreadId: threadId, reference, status, now })
  const child = closes ?? (await findChild(tx, threadId, reference))
  const name = await findChildName(tx, { reference }, child)
  const event = fact(
    'subagent.closed',
    { reference, name, status: child?.status ?? status },
    { ...scope, childId: reference },
  )
  await appendEvents(tx, { threadId, events: [event], now })
}
