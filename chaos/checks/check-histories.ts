import type { ThreadHandle } from 'everthread/client'

import type { Finding } from '../finding.js'

/** The part of a client that reads them. */
interface Histories {
  get(threadId: string): { readonly workflow: Pick<ThreadHandle['workflow'], 'fetchHistory'> }
}

/** Workflow tasks that failed: a kill makes one time out, and nothing of ours may make one fail. */
export async function checkHistory(threads: Histories, threadId: string): Promise<readonly Finding[]> {
  const { events } = await threads.get(threadId).workflow.fetchHistory()
  return (events ?? []).flatMap(({ eventId, workflowTaskFailedEventAttributes: failed }): Finding[] => {
    if (failed == null) return []
    const problem = `A workflow task failed: ${failed.failure?.message ?? `cause ${failed.cause}`}`
    return [{ kind: 'wrong', threadId, id: `event ${String(eventId)}`, problem }]
  })
}
