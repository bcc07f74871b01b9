import { closeChild } from '../store/children.js'
import { rejectUndelivered } from '../store/deliver-messages.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { requestTermination, updateThread } from '../store/threads.js'
import { removeEffects } from './remove-effects.js'

interface UnstartedChild {
  readonly parentThreadId: string
  readonly reference: string
  /** Why it never starts, for whoever reads its row. */
  readonly reason: string
  /** Microseconds. */
  readonly now: number
}

const STATUS = 'terminated'

/** A child of which there are rows only: no workflow would ever close them. One that is closed already stays as it is. */
export async function closeUnstartedChild(tx: Writer, unstarted: UnstartedChild): Promise<void> {
  const { parentThreadId, reference, reason, now } = unstarted
  const closed = await closeChild(tx, { parentThreadId, reference, status: STATUS, now })
  if (closed === null) return
  const rejected = await rejectUndelivered(tx, reference)
  await removeEffects(tx, reference, now)
  await requestTermination(tx, { threadId: reference, reason, now })
  await updateThread(tx, reference, { status: STATUS, closed_at: now, terminated_at: now })
  const payload = { outcome: STATUS, reason: STATUS, rejected: rejected.length }
  await appendEvents(tx, { threadId: reference, events: [{ type: 'thread.closed', payload }], now })
  const event = {
    type: 'subagent.closed',
    scope: { childId: reference },
    payload: { reference, name: closed.name, status: STATUS },
  }
  await appendEvents(tx, { threadId: parentThreadId, events: [event], now })
}
