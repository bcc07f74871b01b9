import { isGrpcServiceError } from '@temporalio/client'
import type { ThreadHandle } from 'everthread/client'

type History = Awaited<ReturnType<ThreadHandle['workflow']['fetchHistory']>>
export type HistoryEvent = NonNullable<History['events']>[number]

/** The part of a client that reads histories. */
export interface Histories {
  get(threadId: string): { readonly workflow: RunHandle }
}

interface RunHandle {
  fetchHistory(): Promise<History>
  readonly client: { getHandle(workflowId: string, runId: string): Pick<RunHandle, 'fetchHistory'> }
}

/** Of gRPC. */
const NOT_FOUND = 5

/**
 * The events of each Temporal run of a thread, newest first, through continue-as-new; null where Temporal does not know its
 * workflow.
 */
export async function temporalRuns(
  threads: Histories,
  threadId: string,
): Promise<readonly (readonly HistoryEvent[])[] | null> {
  const { workflow } = threads.get(threadId)
  const runs: (readonly HistoryEvent[])[] = []
  let run: Pick<RunHandle, 'fetchHistory'> = workflow
  for (;;) {
    const events = await eventsOf(run)
    if (events === null) return runs.length === 0 ? null : runs
    runs.push(events)
    const before = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? ''
    if (before === '') return runs
    run = workflow.client.getHandle(threadId, before)
  }
}

/** An old one may be gone: the server keeps those that are over for as long as its namespace says. */
async function eventsOf(run: Pick<RunHandle, 'fetchHistory'>): Promise<readonly HistoryEvent[] | null> {
  try {
    return (await run.fetchHistory()).events ?? []
  } catch (error) {
    // Its own error, and not the SDK's.
    if (isGrpcServiceError(error) && error.code === NOT_FOUND) return null
    throw error
  }
}
