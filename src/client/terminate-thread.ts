import { ThreadNotFoundError } from '../protocol/errors.js'
import { subtreeOf } from '../store/threads/thread-tree.js'
import { requestTermination } from '../store/threads/threads.js'
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
export async function terminateThread(context: ClientContext, termination: Termination): Promise<void> {
  const { threadId, reason } = termination
  const ended = await endThread(context, termination)
  if (ended === 'missing') throw new ThreadNotFoundError(threadId)
  if (ended === 'told') return
  const store = await context.store()
  const tree = await store.read((db) => subtreeOf(db, threadId))
  // Also below those that closed before: whoever closed them may have come no further. The highest ones first.
  const below = tree.filter(({ id, closedAt }) => closedAt === null && id !== threadId).toReversed()
  // One that was deleted meanwhile has ended.
  for (const { id } of below) await endThread(context, { threadId: id, reason })
}

/** `told`: its workflow closes it, and tells its children. `closed`: nobody tells them. */
async function endThread(
  context: ClientContext,
  { threadId, reason }: Termination,
): Promise<'told' | 'closed' | 'missing'> {
  const store = await context.store()
  const asked = await store.write((tx) =>
    requestTermination(tx, { threadId, reason: reason ?? null, now: microseconds() }),
  )
  if (asked === 'missing' || asked === 'closed') return asked
  if ((await cancelWorkflow(context, threadId)) === 'accepted') return 'told'
  // Nobody is left to close it: not started yet, or ended by an operator.
  const closed = await store.write((tx) => closeRow(tx, threadId, microseconds()))
  if (closed !== null && closed.request !== null) await releaseDeferred(context, closed.request)
  return 'closed'
}
