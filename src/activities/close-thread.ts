import type { SettleInput, ThreadClose } from '../protocol/end-activities.js'
import { updateChild } from '../store/children.js'
import { rejectUndelivered } from '../store/deliver-messages.js'
import { closeOpenCalls } from '../store/close-open-calls.js'
import { removeScheduledEffects } from '../store/effects.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { requestTermination, updateThread } from '../store/threads.js'
import type { ThreadRecord } from '../store/threads.js'
import { microseconds } from './call-model/model-step.js'

interface Closed {
  readonly thread: ThreadRecord
  readonly input: SettleInput
  readonly close: ThreadClose
}

/**
 * From this commit on the thread takes nothing (T8): what waits is rejected, by the thread and not by its queue; open
 * calls are cancelled, scheduled effects removed; children are marked, so that nothing of them runs either.
 */
export async function closeThread(tx: Writer, { thread, input, close }: Closed): Promise<void> {
  const { threadId } = input
  const now = microseconds(input)
  const terminated = close.outcome === 'terminated'
  await closeOpenCalls(tx, { threadId, now, outcome: 'cancelled' })
  const rejected = await rejectUndelivered(tx, threadId)
  await removeEffects(tx, threadId, now)
  await updateThread(tx, threadId, {
    closed_at: thread.closed_at ?? now,
    terminated_at: terminated ? (thread.terminated_at ?? now) : null,
    terminate_requested_at: thread.terminate_requested_at ?? (terminated ? now : null),
  })
  if (thread.parent_thread_id !== null) {
    const key = { parentThreadId: thread.parent_thread_id, reference: threadId }
    await updateChild(tx, key, { status: close.outcome })
  }
  for (const reference of input.children)
    await requestTermination(tx, { threadId: reference, reason: 'The parent thread was closed.', now })
  // A signal may come between this transaction and the workflow's end: it is settled again, and closed once.
  if (thread.closed_at !== null) return
  const payload = { outcome: close.outcome, reason: close.reason, rejected: rejected.length }
  await appendEvents(tx, { threadId, events: [{ type: 'thread.closed', payload }], now })
}

async function removeEffects(tx: Writer, threadId: string, now: number): Promise<void> {
  const removed = await removeScheduledEffects(tx, threadId, now)
  const events = removed.map(({ id, name }) => ({ type: 'effect.removed', payload: { effectId: id, name } }))
  await appendEvents(tx, { threadId, events, now })
}
