import { randomUUID } from 'node:crypto'

import type { WorkflowHandle } from '@temporalio/client'

/** Resets a workflow, as an operator does, to its first workflow task, or the first one behind that activity: what came later happens again. */
export async function resetWorkflow({ client, workflowId }: WorkflowHandle, behind?: string): Promise<void> {
  const handle = client.getHandle(workflowId)
  const { runId } = await handle.describe()
  const { events } = await client.getHandle(workflowId, runId).fetchHistory()
  const since =
    behind === undefined ? -1 : (events ?? []).findIndex((event) => scheduledActivity(event) === behind)
  const first = (events ?? []).find(
    ({ workflowTaskCompletedEventAttributes: completed }, index) => completed != null && index > since,
  )
  if (first?.eventId == null) throw new Error(`Expected a workflow task of ${workflowId}, got none.`)
  await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    workflowExecution: { workflowId, runId },
    reason: 'operator',
    requestId: randomUUID(),
    workflowTaskFinishEventId: first.eventId,
  })
}

type Event = NonNullable<Awaited<ReturnType<WorkflowHandle['fetchHistory']>>['events']>[number]

function scheduledActivity({ activityTaskScheduledEventAttributes: scheduled }: Event): string | null {
  return scheduled?.activityType?.name ?? null
}
