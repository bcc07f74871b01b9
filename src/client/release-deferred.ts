import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LIMITS } from '../protocol/limits.js'
import { UPDATES } from '../protocol/messages.js'
import type { Respond } from '../protocol/messages.js'
import type { PendingRecord } from '../store/calls/requests.js'
import type { ClientContext } from './client-context.js'
import { updateWorkflow } from './update-workflow.js'

/**
 * Ends the wait of a parent for the variables of a subagent that was terminated before it started: its workflow is
 * started, finds its thread closed, and reports that (T7). A parent that does not answer does the same once the request
 * expires.
 */
export async function releaseDeferred(
  context: ClientContext,
  { thread_id: parentThreadId, id }: Pick<PendingRecord, 'thread_id' | 'id'>,
): Promise<void> {
  const until = Date.now() + LIMITS.respond
  const input: Respond = { id, names: [] }
  for (;;) {
    const patience = Math.max(1, until - Date.now())
    const update = { name: UPDATES.respond, id: `${UPDATES.respond}:${id}:${randomUUID()}`, input, patience }
    // The workflow may hear of the request a moment later than everybody who reads the store.
    if ((await updateWorkflow(context, parentThreadId, update)) !== 'unknown') return
    if (Date.now() + LIMITS.respondPause >= until) return
    await sleep(LIMITS.respondPause)
  }
}
