import { randomUUID } from 'node:crypto'

import type { WorkflowHandle } from '@temporalio/client'

/** Resets a workflow to its first workflow task, as an operator does: what came later happens again. */
export async function resetWorkflow({ client, workflowId }: WorkflowHandle): Promise<void> {
  const handle = client.getHandle(workflowId)
  const { runId } = await handle.describe()
  const { events } = await client.getHandle(workflowId, runId).fetchHistory()
  const first = (events ?? []).find(
    ({ workflowTaskCompletedEventAttributes: completed }) => completed != null,
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
