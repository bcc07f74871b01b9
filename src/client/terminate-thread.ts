import { ThreadNotFoundError } from '../protocol/thread-error.js'
import { listChildren } from '../store/children.js'
import { requestTermination } from '../store/threads.js'
import type { ClientContext } from './client-context.js'
import { microseconds } from './clock.js'
import { closeRow } from './close-row.js'
import { releaseDeferred } from './release-deferred.js'
import { cancelWorkflow } from './thread-workflow.js'

export interface Termination {
  readonly threadId: string
  readonly reason?: string | undefined
}

/**
 * T8: the row first, which refuses everything from then on, then the workflow's cancellation, which ends what is in
 * flight and closes softly. Repeating it does no harm. @throws ThreadNotFoundError, TemporalUnavailableError
 */
export async function terminateThread(
  context: ClientContext,
  { threadId, reason }: Termination,
): Promise<void> {
  const store = await context.store()
  const asked = await store.write((tx) =>
    requestTermination(tx, { threadId, reason: reason ?? null, now: microseconds() }),
  )
  if (asked === 'missing') throw new ThreadNotFoundError(threadId)
  if (asked === 'closed' || (await cancelWorkflow(context, threadId)) === 'accepted') return
  // Nobody is left to close it: not started yet, or ended by an operator.
  const closed = await store.write((tx) => closeRow(tx, threadId, microseconds()))
  if (closed === null) return
  if (closed.request !== null) await releaseDeferred(context, closed.request)
  for (const child of await store.read((db) => listChildren(db, threadId)))
    await terminateThread(context, { threadId: child.reference, reason })
}
