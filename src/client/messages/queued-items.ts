/**
 * Commands on single items of the queue, by their id: a removal and a promotion.
 * Owns: what decides them, and their errors.
 * Does not own: the order of the queue (`thread/inbox.ts`), and the rows of its items (`store/messages/queue.ts`).
 */
import { randomUUID } from 'node:crypto'
import { NotQueuedError } from '../../protocol/errors.js'
import { OUR_IDS, UPDATES } from '../../protocol/messages.js'
import { nowMicros } from '../../protocol/time.js'
import { queuedFate, removeQueuedItem } from '../../store/messages/queue.js'
import type { Removal } from '../../store/messages/queue.js'
import type { Writer } from '../../store/store.js'
import { RESPOND_PATIENCE } from '../answers/respond.js'
import { requireOpenThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { carryOut } from '../once.js'
import { lostThreadError, updateWorkflow } from '../thread-workflow.js'
import { noAnswerError } from '../waiting/notices.js'

/**
 * Removes an item that waits its turn: its row first, which decides, then an Update that takes it out of the workflow's
 * queue. Any process may do it, and may repeat it after any failure.
 */
export async function removeQueued(context: ClientContext, threadId: string, id: string): Promise<void> {
  await carryOut(context, {
    ...{ threadId, name: 'removeQueued', content: id },
    store: async (tx) => ({ hasRow: await removeRow(tx, threadId, id) }),
    announce: async ({ hasRow }, repeated) => {
      const answer = await tellRemoval(context, threadId, id)
      // An item with a row is removed by the row: a workflow without the item, or a closed one, has nothing to take out.
      if (answer !== 'accepted' && !hasRow && !repeated)
        throw new NotQueuedError(threadId, { id, ...REASONS.unknown })
    },
  })
}

/** False: it is an item of which only the workflow knows. @throws NotQueuedError, ThreadTerminatedError, ThreadNotFoundError */
export async function removeRow(tx: Writer, threadId: string, id: string): Promise<boolean> {
  await requireOpenThread(tx, threadId)
  const removal = await removeQueuedItem(tx, { threadId, id, now: nowMicros() })
  if (removal === 'removed' || removal === 'before') return true
  if (removal === 'unknown' && id.startsWith(OUR_IDS)) return false
  throw new NotQueuedError(threadId, { id, ...REASONS[removal] })
}

/** Takes a removed item out of the queue of the workflow. @throws NoWorkerError */
export async function tellRemoval(context: ClientContext, threadId: string, id: string): Promise<string> {
  const answer = await updateWorkflow(context, threadId, {
    name: UPDATES.removeQueued,
    id: `${UPDATES.removeQueued}:${id}`,
    input: { id },
    patience: RESPOND_PATIENCE,
  })
  if (answer === 'silent') throw await noAnswerError(context, threadId, 'removal')
  return answer
}

/**
 * Moves an item before everything that waits. The workflow has the order of the queue, so it decides; the row only says why an item cannot
 * be moved. @throws NotQueuedError, also for an item that a step is taking; NoWorkerError: nothing was moved
 */
export async function promoteQueued(context: ClientContext, threadId: string, id: string): Promise<void> {
  await carryOut(context, {
    ...{ threadId, name: 'promote', content: id },
    store: async (tx) => {
      await requireOpenThread(tx, threadId)
      const fate = await queuedFate(tx, threadId, id)
      const inline = fate === 'unknown' && id.startsWith(OUR_IDS)
      if (fate !== 'waiting' && !inline) throw new NotQueuedError(threadId, { id, ...REASONS[fate] })
      return { inline, commandId: randomUUID() }
    },
    announce: async ({ inline, commandId }, repeated) => {
      const answer = await updateWorkflow(context, threadId, {
        name: UPDATES.promoteQueued,
        // Each promotion is one of its own: other items may have been promoted since.
        id: `${UPDATES.promoteQueued}:${commandId}`,
        input: { id, commandId },
        patience: RESPOND_PATIENCE,
      })
      if (answer === 'silent') throw await noAnswerError(context, threadId, 'promotion')
      if (answer === 'gone') {
        const store = await context.store()
        await store.read((db) => requireOpenThread(db, threadId))
        throw lostThreadError(threadId)
      }
      if (answer !== 'accepted' && !repeated)
        throw new NotQueuedError(threadId, { id, ...REASONS[inline ? 'unknown' : 'begun'] })
    },
  })
}

interface Reason {
  readonly reason: string
  readonly delivered: boolean
}

const REASONS: Readonly<Record<Exclude<Removal, 'removed'>, Reason>> = {
  before: { reason: 'one that was removed', delivered: false },
  begun: { reason: 'one that is delivered, or has ended', delivered: true },
  owed: { reason: "a subagent's message", delivered: false },
  unknown: { reason: 'one that is not in its queue', delivered: false },
}
