import { runIdOf } from '../protocol/ids.js'
import type { Fact } from '../protocol/facts.js'
import { updateChild } from '../store/children.js'
import { closeOpenCalls } from '../store/close-open-calls.js'
import { rejectUndelivered } from '../store/deliver-messages.js'
import { appendEvents } from '../store/events.js'
import { lastRun, updateRun } from '../store/runs.js'
import { findThread, updateThread } from '../store/threads.js'
import type { Writer } from '../store/store.js'

const TERMINATED = { outcome: 'terminated', reason: 'terminated' } as const

/**
 * Closes a terminated thread whose workflow is gone, as that would have done it (T8): nothing waits, no call is open.
 * False if it was closed before.
 */
export async function closeRow(tx: Writer, threadId: string, now: number): Promise<boolean> {
  const thread = await findThread(tx, threadId)
  if (thread === null || thread.closed_at !== null) return false
  // Also what a worker has in flight: it cannot commit any more, for its workflow will not hear of it.
  await closeOpenCalls(tx, { threadId, outcome: 'cancelled', now })
  const rejected = await rejectUndelivered(tx, threadId)
  const closed = { type: 'thread.closed', payload: { ...TERMINATED, rejected: rejected.length } }
  const events = [...(await endRun(tx, threadId, now)), closed]
  await appendEvents(tx, { threadId, events, now })
  await updateThread(tx, threadId, { status: 'terminated', terminated_at: now, closed_at: now })
  if (thread.parent_thread_id !== null) {
    const key = { parentThreadId: thread.parent_thread_id, reference: threadId }
    await updateChild(tx, key, { status: 'terminated' })
  }
  return true
}

async function endRun(tx: Writer, threadId: string, now: number): Promise<readonly Fact[]> {
  const run = await lastRun(tx, threadId)
  if (run === null || run.ended_at !== null) return []
  const { number } = run
  await updateRun(tx, { threadId, number }, { ended_at: now, reason: 'terminated', outcome: 'cancelled' })
  return [
    {
      type: 'run.cancelled',
      scope: { runId: runIdOf(number) },
      payload: { reason: 'terminated', steps: run.steps },
    },
  ]
}
