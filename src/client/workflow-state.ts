import { NamespaceNotFoundError, isGrpcServiceError } from '@temporalio/client'

import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { translate } from './translate.js'

/** What Temporal knows of a thread. */
export type WorkflowState =
  /** `attempts` of its workflow task in flight, from 1. */
  | {
      readonly state: 'open'
      readonly run: WorkflowRun
      readonly reopened: boolean
      readonly attempts: number
    }
  /** With Temporal's status; `not_found`: its history is gone, or there was none. */
  | { readonly state: 'closed'; readonly status: string; readonly run: WorkflowRun | null }

/** The last run of a workflow id. */
export interface WorkflowRun {
  readonly id: string
  /** Anybody may use the id of a thread for a workflow of another type. */
  readonly type: string
  readonly taskQueue: string
}

/** In the memo of a thread that was opened again, through continue-as-new. */
export const REOPENED_MEMO = 'reopened'

/** Of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const CLOSED: ReadonlyMap<unknown, string> = new Map([
  [2, 'completed'],
  [3, 'failed'],
  [4, 'canceled'],
  [5, 'terminated'],
  [7, 'timed_out'],
])

/** gRPC's own number. */
const NOT_FOUND = 5

/** Decodes nothing: whoever looks may lack the codec that a thread is stored with. @throws TemporalUnavailableError */
export async function lookAtWorkflow(
  context: ClientContext,
  threadId: string,
  patience: number = LIMITS.temporalCall,
): Promise<WorkflowState> {
  const client = context.temporal()
  const { namespace } = client.options
  const request = { namespace, execution: { workflowId: threadId } }
  try {
    const { workflowExecutionInfo: info, pendingWorkflowTask: task } = await context.call(patience, () =>
      client.workflowService.describeWorkflowExecution(request),
    )
    const run = {
      id: info?.execution?.runId ?? '',
      type: info?.type?.name ?? '',
      taskQueue: info?.taskQueue ?? '',
    }
    const status = CLOSED.get(info?.status)
    if (status !== undefined) return { state: 'closed', status, run }
    const reopened = Object.hasOwn(info?.memo?.fields ?? {}, REOPENED_MEMO)
    return { state: 'open', run, reopened, attempts: task?.attempt ?? 0 }
  } catch (error) {
    if (!isGrpcServiceError(error) || error.code !== NOT_FOUND) throw translate(error, { client, threadId })
    if (!/^namespace /i.test(error.details)) return { state: 'closed', status: 'not_found', run: null }
    throw translate(new NamespaceNotFoundError(namespace), { client, threadId })
  }
}
