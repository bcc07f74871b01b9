/**
 * A promotion of an item of the queue, by its id.
 * Owns: what decides it, and its errors.
 * Does not own: the order of the queue (`thread/inbox.ts`), and the rows of its items (`store/messages/queue.ts`).
 */
import { randomUUID } from 'node:crypto'
import { NotQueuedError } from '../../protocol/errors.js'
import { OUR_IDS, UPDATES } from '../../protocol/messages.js'
import { queuedFate } from '../../store/messages/queue.js'
import { RESPOND_PATIENCE } from '../answers/respond.js'
import { requireOpenThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { carryOut } from '../once.js'
import { lostThreadError, updateWorkflow } from '../thread-workflow.js'
import { noAnswerError } from '../waiting/notices.js'
import { NOT_QUEUED } from './interrupt.js'

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
      if (fate !== 'waiting' && !inline) throw new NotQueuedError(threadId, { id, ...NOT_QUEUED[fate] })
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
        throw new NotQueuedError(threadId, { id, ...NOT_QUEUED[inline ? 'unknown' : 'begun'] })
    },
  })
}
