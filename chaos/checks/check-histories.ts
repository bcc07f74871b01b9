import type { Finding } from '../finding.js'
import { contentIn } from './content-in.js'
import { temporalRuns } from './temporal-runs.js'
import type { HistoryEvent, Histories } from './temporal-runs.js'
import type { ThreadRecord } from './thread-record.js'

/**
 * In all Temporal runs of a thread: workflow tasks that failed, for a kill makes one time out and nothing of ours may make one
 * fail, and words of the conversation, which belong into the store alone (T5). A subagent whose start was cut short has rows
 * only, and they are closed.
 */
export async function checkHistory(
  threads: Histories,
  { threadId, closed, parent, rows }: Pick<ThreadRecord, 'threadId' | 'closed' | 'parent' | 'rows'>,
): Promise<readonly Finding[]> {
  const runs = await temporalRuns(threads, threadId)
  if (runs === null) {
    if (closed && parent !== null && rows.length === 0) return []
    return [{ kind: 'wrong', threadId, id: threadId, problem: 'Temporal does not know its workflow.' }]
  }
  return runs.flatMap((events) => {
    const run = events[0]?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? ''
    return events.flatMap((event): readonly Finding[] =>
      problemsOf(event).map((problem) => {
        return { kind: 'wrong', threadId, id: `event ${String(event.eventId)} of run ${run}`, problem }
      }),
    )
  })
}

/**
 * Of Temporal's `WorkflowTaskFailedCause`, by the server itself, which gives the task out again: a signal came while it ended
 * its run (1), or the 101st while somebody had it (17), as when a queue is filled and its worker was killed.
 */
const SERVERS_OWN: ReadonlySet<unknown> = new Set([1, 17])

function problemsOf(event: HistoryEvent): readonly string[] {
  const failed = event.workflowTaskFailedEventAttributes
  const words = contentIn(event)
  return [
    ...(failed == null || SERVERS_OWN.has(failed.cause)
      ? []
      : [`A workflow task failed: ${failed.failure?.message ?? `cause ${failed.cause}`}`]),
    ...(words === null ? [] : [`Words of the conversation are in the history: ${words}`]),
  ]
}
