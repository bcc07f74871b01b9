import { WorkflowNotFoundError } from '@temporalio/client'
import type { WorkflowClient } from '@temporalio/client'

type History = Awaited<ReturnType<ReturnType<WorkflowClient['getHandle']>['fetchHistory']>>

/** One Temporal run of a thread. */
export interface FetchedRun {
  readonly workflowId: string
  readonly runId: string
  readonly history: History
}

/** All Temporal runs that Temporal still has of a thread, through continue-as-new, the first one first. */
export async function fetchHistories(
  client: Pick<WorkflowClient, 'getHandle'>,
  workflowId: string,
): Promise<readonly FetchedRun[]> {
  const runs: FetchedRun[] = []
  try {
    let { runId } = await client.getHandle(workflowId).describe()
    while (runId !== '') {
      const history = await client.getHandle(workflowId, runId).fetchHistory()
      runs.unshift({ workflowId, runId, history })
      const started = history.events?.[0]?.workflowExecutionStartedEventAttributes
      runId = started?.continuedExecutionRunId ?? ''
    }
  } catch (error) {
    // A child that waits for its variables has no workflow yet, and old runs are gone after Temporal's retention.
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
  return runs
}
