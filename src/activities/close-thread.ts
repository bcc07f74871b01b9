import type { SettleInput, ThreadClose } from '../protocol/end-activities.js'
import { closeChild, deferredChildren } from '../store/children.js'
import { rejectUndelivered } from '../store/deliver-messages.js'
import { closeOpenCalls } from '../store/close-open-calls.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { requestTermination, updateThread } from '../store/threads.js'
import type { ThreadRecord } from '../store/threads.js'
import { microseconds } from './call-model/model-step.js'
import { closeUnstartedChild } from './close-unstarted-child.js'
import { removeEffects } from './remove-effects.js'

const PARENT_CLOSED = 'The parent thread was closed.'

interface Closed {
  readonly thread: ThreadRecord
  readonly input: SettleInput
  readonly close: ThreadClose
}

/**
 * From this commit on the thread takes nothing (T8): what waits is rejected, by the thread and not by its queue; open
 * calls are cancelled, scheduled effects removed; children are marked, so that nothing of them runs either, and those that
 * wait for variables, which no workflow would ever close, are closed here.
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
  if (thread.parent_thread_id !== null)
    await closeChild(tx, {
      ...{ parentThreadId: thread.parent_thread_id, reference: threadId },
      ...{ status: close.outcome, now },
    })
  await closeDeferred(tx, threadId, now)
  for (const reference of input.children)
    await requestTermination(tx, { threadId: reference, reason: PARENT_CLOSED, now })
  // A signal may come between this transaction and the workflow's end: it is settled again, and closed once.
  if (thread.closed_at !== null) return
  const payload = { outcome: close.outcome, reason: close.reason, rejected: rejected.length }
  await appendEvents(tx, { threadId, events: [{ type: 'thread.closed', payload }], now })
}

/** What they asked for is a request of this thread, which is closed with its calls. */
async function closeDeferred(tx: Writer, parentThreadId: string, now: number): Promise<void> {
  for (const { reference } of await deferredChildren(tx, parentThreadId))
    await closeUnstartedChild(tx, { parentThreadId, reference, reason: PARENT_CLOSED, now })
}
