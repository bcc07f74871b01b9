import { setTimeout as sleep } from 'node:timers/promises'
import { MessageRejectedError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { lastRun } from '../store/threads/runs.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { ClientContext } from './client-context.js'
import { openThread } from './open-thread.js'
import { signalWorkflow, startWorkflow } from './thread-workflow.js'
import type { ThreadSignal } from './thread-workflow.js'

/** Between two looks for a child that its parent is about to start: that takes a few milliseconds. */
const CHILD_PAUSE = 100

/**
 * Signals an open thread; one whose row is there while its workflow is not started yet is started first.
 * @throws ThreadTerminatedError; MessageRejectedError when the thread is lost; TemporalUnavailableError
 */
export async function signalThread(
  context: ClientContext,
  threadId: string,
  signal: ThreadSignal,
): Promise<void> {
  const deadline = Date.now() + LIMITS.temporalCall
  for (;;) {
    if ((await signalWorkflow(context, threadId, signal)) === 'accepted') return
    const { thread, hasRun } = await stateOf(context, threadId)
    if (hasRun || Date.now() > deadline) throw lostThread(threadId)
    // A child is started by its parent alone, or it would be no child in Temporal.
    if (thread.parent_thread_id !== null) await sleep(CHILD_PAUSE)
    else if ((await startWorkflow(context, thread, { isNew: true })) === 'closed') throw lostThread(threadId)
  }
}

/** @throws ThreadTerminatedError: the row tells why Temporal has no workflow. */
async function stateOf(
  context: ClientContext,
  threadId: string,
): Promise<{ readonly thread: ThreadRecord; readonly hasRun: boolean }> {
  const store = await context.store()
  return store.read(async (db) => {
    const thread = await openThread(db, threadId)
    return { thread, hasRun: (await lastRun(db, threadId)) !== null }
  })
}

/** Of a thread that the store has open while Temporal has no workflow of it. */
export function lostThread(threadId: string): MessageRejectedError {
  return new MessageRejectedError(
    threadId,
    `Expected an open workflow of thread "${threadId}" in Temporal, got none while the store has the thread open: it is ` +
      'lost (terminated by an operator, or another namespace). Reopen it, terminate it, or check TEMPORAL_NAMESPACE.',
  )
}
