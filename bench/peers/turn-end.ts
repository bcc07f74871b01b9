import type { Client } from '@temporalio/client'

/** Of `HistoryEventFilterType`: only the event that closed a workflow. */
const CLOSE_EVENT = 2

/** How the server says that a turn ended, and what it left behind. */
export interface TurnEnd {
  readonly status: 'COMPLETED' | 'TERMINATED'
  /** The server's, of a termination. */
  readonly reason?: string
  readonly events: number
  /** By the server's count. */
  readonly bytes: number
}

/** Throws if the turn ended otherwise than by its answer or by the server's limits. */
export async function turnEnd(client: Client, workflowId: string): Promise<TurnEnd> {
  const { status, historyLength, historySize } = await client.workflow.getHandle(workflowId).describe()
  const sizes = { events: historyLength, bytes: historySize ?? 0 }
  if (status.name === 'COMPLETED') return { status: status.name, ...sizes }
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId },
    historyEventFilterType: CLOSE_EVENT,
  })
  const closed = history?.events?.at(-1)
  const reason =
    closed?.workflowExecutionTerminatedEventAttributes?.reason ??
    closed?.workflowExecutionFailedEventAttributes?.failure?.message ??
    'no reason'
  if (status.name === 'TERMINATED') return { status: status.name, reason, ...sizes }
  throw new Error(`Expected ${workflowId} to complete or to be terminated, got ${status.name}: ${reason}`)
}
