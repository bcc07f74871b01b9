/**
 * What closing a thread means (T8), whoever closes it: its own workflow, a client that finds the workflow gone, or a parent
 * whose child never started. After `closeThread` no call, request, operation, message, effect or run of the thread is open;
 * children that wait for variables are closed with it, other open children are marked so that they close themselves; and the
 * last event of the thread is `thread.closed`, which it has once.
 *
 * This module does not decide what is reported to the parent of the thread (T7): that depends on the caller, and is decided
 * there. Only `closeUnstartedChild` closes a child in the registry too, because no workflow would ever report for it.
 */

import { fact } from '../../protocol/facts.js'
import type { OwnState } from '../../protocol/payloads/sessions.js'
import type { StopReason } from '../../protocol/status.js'
import { closeOpenCalls } from '../calls/open-calls.js'
import { appendEvents } from '../events.js'
import { rejectUndelivered } from '../messages/delivery.js'
import type { Writer } from '../store.js'
import { closeChild, listDeferredChildren } from './children.js'
import { endOpenRuns } from './runs.js'
import { terminatedState } from './session-state.js'
import { deleteStops } from './stops.js'
import { requestTermination, updateThread } from './threads.js'
import type { Micros } from '../../protocol/time.js'
import type { EffectRecord } from './effects.js'

const PARENT_CLOSED = 'The parent thread was closed.'

interface ThreadClosing {
  readonly threadId: string
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: StopReason
  readonly now: Micros
}

/**
 * Closes the thread's rows. A thread that is closed already is only cleaned again, because a message or signal may have come
 * in between: it keeps its first time of closing and gets no second event. Returns false for it, and for a missing row.
 */
export async function closeThread(tx: Writer, closing: ThreadClosing): Promise<boolean> {
  const { threadId, outcome, reason, now } = closing
  const before = await tx
    .selectFrom('threads')
    .select(['closed_at', 'terminated_at', 'terminate_requested_at', 'session_state'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (before === undefined) return false
  const terminated = outcome === 'terminated'
  await closeOpenCalls(tx, { threadId, now, outcome: 'cancelled' })
  const rejected = await rejectUndelivered(tx, threadId)
  await removeEffects(tx, threadId, now)
  // A workflow ends its run before it closes the thread: a run that is still open lost its workflow.
  const runs = await endOpenRuns(tx, {
    ...{ threadId, reason: 'terminated', outcome: 'cancelled' },
    ...{ status: outcome, now },
  })
  await appendEvents(tx, { threadId, events: runs, now })
  await updateThread(tx, threadId, {
    status: outcome,
    // Our code wrote it: the store's boundary.
    session_state: terminated ? terminatedState(before.session_state as OwnState) : outcome,
    closed_at: before.closed_at ?? now,
    terminated_at: terminated ? (before.terminated_at ?? now) : null,
    terminate_requested_at: before.terminate_requested_at ?? (terminated ? now : null),
  })
  deleteStops(tx, { threadId, run: null })
  await closeChildrenOf(tx, threadId, now)
  if (before.closed_at !== null) return false
  const ends = rejected.map((messageId) => fact('message.ended', { end: 'rejected' }, { messageId }))
  const closed = fact('thread.closed', { outcome, reason, rejected: rejected.length })
  await appendEvents(tx, { threadId, events: [...ends, closed], now })
  return true
}

interface UnstartedChild {
  readonly parentThreadId: string
  readonly reference: string
  /** Why it never starts: the `terminate_reason` of its row. */
  readonly reason: string
  readonly now: Micros
}

/** Closes a child that has rows and no workflow, in its own rows and in the registry. A closed child stays as it is. */
export async function closeUnstartedChild(tx: Writer, unstarted: UnstartedChild): Promise<void> {
  const { parentThreadId, reference, reason, now } = unstarted
  const status = 'terminated'
  const closed = await closeChild(tx, { parentThreadId, reference, status, now })
  if (closed === null) return
  await requestTermination(tx, { threadId: reference, reason, now })
  await closeThread(tx, { threadId: reference, outcome: status, reason: status, now })
  const event = fact('subagent.closed', { reference, name: closed.name, status }, { childId: reference })
  await appendEvents(tx, { threadId: parentThreadId, events: [event], now })
}

/** Removes the scheduled effects of a closed thread: they never run. */
async function removeEffects(tx: Writer, threadId: string, now: Micros): Promise<void> {
  const removed = await removeScheduledEffects(tx, threadId, now)
  const events = removed.map(({ id, name }) => fact('effect.removed', { effectId: id, name }))
  await appendEvents(tx, { threadId, events, now })
}

/** Nothing of a child runs after its parent closed (T8). */
async function closeChildrenOf(tx: Writer, parentThreadId: string, now: Micros): Promise<void> {
  for (const { reference } of await listDeferredChildren(tx, parentThreadId))
    await closeUnstartedChild(tx, { parentThreadId, reference, reason: PARENT_CLOSED, now })
  const open = await tx
    .selectFrom('threads')
    .select('id')
    .where('parent_thread_id', '=', parentThreadId)
    .where('terminate_requested_at', 'is', null)
    .where('closed_at', 'is', null)
    .execute()
  for (const { id: threadId } of open) await requestTermination(tx, { threadId, reason: PARENT_CLOSED, now })
}

/** T8: removes the scheduled effects of a thread that ends; returns them. */
async function removeScheduledEffects(
  tx: Writer,
  threadId: string,
  now: Micros,
): Promise<readonly Pick<EffectRecord, 'id' | 'name'>[]> {
  return tx
    .updateTable('effects')
    .set({ status: 'removed', finished_at: now })
    .where('thread_id', '=', threadId)
    .where('status', '=', 'scheduled')
    .returning(['id', 'name'])
    .execute()
}
