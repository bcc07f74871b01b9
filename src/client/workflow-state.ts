import { WorkflowNotFoundError } from '@temporalio/client'

import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { workflowOf } from './thread-workflow.js'
import { translate } from './translate.js'

/** What Temporal knows of a thread. */
export type WorkflowState =
  | { readonly state: 'open'; readonly reopened: boolean; readonly attempts: number }
  /** With Temporal's status; `not_found`: its history is gone, or there was none. */
  | { readonly state: 'closed'; readonly status: string }

/** In the memo of a thread that was opened again, through continue-as-new. */
export const REOPENED_MEMO = 'reopened'

const OPEN: ReadonlySet<string> = new Set(['RUNNING', 'PAUSED'])

/** @throws TemporalUnavailableError */
export async function lookAtWorkflow(context: ClientContext, threadId: string): Promise<WorkflowState> {
  try {
    const found = await context.call(LIMITS.temporalCall, () => workflowOf(context, threadId).describe())
    if (!OPEN.has(found.status.name)) return { state: 'closed', status: found.status.name.toLowerCase() }
    const attempts = found.raw.pendingWorkflowTask?.attempt ?? 0
    return { state: 'open', reopened: found.memo?.[REOPENED_MEMO] === true, attempts }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { state: 'closed', status: 'not_found' }
    throw translate(error, { client: context.temporal(), threadId })
  }
}
