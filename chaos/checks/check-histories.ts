import { isGrpcServiceError } from '@temporalio/client'
import type { ThreadHandle } from 'everthread/client'

import type { Finding } from '../finding.js'
import type { ThreadRecord } from './thread-record.js'

/** Of gRPC. */
const NOT_FOUND = 5

/** The part of a client that reads them. */
interface Histories {
  get(threadId: string): { readonly workflow: Pick<ThreadHandle['workflow'], 'fetchHistory'> }
}

/**
 * Workflow tasks that failed: a kill makes one time out, and nothing of ours may make one fail. A subagent whose start was cut
 * short has rows only, and they are closed.
 */
export async function checkHistory(
  threads: Histories,
  { threadId, closed, parent, rows }: Pick<ThreadRecord, 'threadId' | 'closed' | 'parent' | 'rows'>,
): Promise<readonly Finding[]> {
  const events = await eventsOf(threads, threadId)
  if (events === null) {
    if (closed && parent !== null && rows.length === 0) return []
    return [{ kind: 'wrong', threadId, id: threadId, problem: 'Temporal does not know its workflow.' }]
  }
  return events.flatMap(({ eventId, workflowTaskFailedEventAttributes: failed }): Finding[] => {
    if (failed == null) return []
    const problem = `A workflow task failed: ${failed.failure?.message ?? `cause ${failed.cause}`}`
    return [{ kind: 'wrong', threadId, id: `event ${String(eventId)}`, problem }]
  })
}

async function eventsOf(threads: Histories, threadId: string) {
  try {
    return (await threads.get(threadId).workflow.fetchHistory()).events ?? []
  } catch (error) {
    // Its own error, and not the SDK's.
    if (isGrpcServiceError(error) && error.code === NOT_FOUND) return null
    throw error
  }
}
