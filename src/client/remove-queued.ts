import { NotQueuedError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { OUR_IDS, UPDATES } from '../protocol/messages.js'
import { removeQueuedItem } from '../store/messages/queue.js'
import type { Removal } from '../store/messages/queue.js'
import type { ClientContext } from './client-context.js'
import { microseconds } from './clock.js'
import { nobodyTook } from './nobody-took.js'
import { openThread } from './open-thread.js'
import { updateWorkflow } from './update-workflow.js'

/**
 * Takes back what waits its turn: its row first, which decides for all, then an Update that takes it out of the
 * workflow's queue. Any process may do it, and again after whatever failed.
 */
export async function removeQueued(context: ClientContext, threadId: string, id: string): Promise<void> {
  const store = await context.store()
  const removal = await store.write(async (tx) => {
    await openThread(tx, threadId)
    return removeQueuedItem(tx, { threadId, id, now: microseconds() })
  })
  const inline = removal === 'unknown' && id.startsWith(OUR_IDS)
  if (removal !== 'removed' && removal !== 'before' && !inline)
    throw new NotQueuedError(threadId, { id, ...REASONS[removal] })
  const answer = await updateWorkflow(context, threadId, {
    name: UPDATES.removeQueued,
    id: `${UPDATES.removeQueued}:${id}`,
    input: { id },
    patience: LIMITS.respond,
  })
  if (answer === 'silent') throw await nobodyTook(context, threadId, 'removal')
  // One with a row is removed by it: a workflow that does not have it, or is gone, has nothing to take out.
  if (answer !== 'accepted' && inline) throw new NotQueuedError(threadId, { id, ...REASONS.unknown })
}

interface Reason {
  readonly reason: string
  readonly delivered: boolean
}

const REASONS: Readonly<Record<Exclude<Removal, 'removed' | 'before'>, Reason>> = {
  begun: { reason: 'one that was delivered, or has ended', delivered: true },
  owed: { reason: "a subagent's message", delivered: false },
  unknown: { reason: 'one that is not in its queue', delivered: false },
}
