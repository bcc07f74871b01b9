import { WorkflowNotFoundError } from '@temporalio/client'

import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { workflowOf } from './thread-workflow.js'
import { translate } from './translate.js'

/** Why a query was not answered: the server is there and no worker, or not even the server. */
export async function silenceOf(context: ClientContext, threadId: string): Promise<string> {
  try {
    const { taskQueue } = await context.call(LIMITS.snapshotQuery, () =>
      workflowOf(context, threadId).describe(),
    )
    return `no worker answers on task queue "${taskQueue}"; start one, or check its task queue`
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'its workflow is not started yet'
    const problem = translate(error, { client: context.temporal(), threadId })
    return problem instanceof Error ? problem.message.replace(/\.$/, '') : String(problem)
  }
}
