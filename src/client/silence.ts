import { WorkflowNotFoundError } from '@temporalio/client'

import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { workflowOf } from './thread-workflow.js'
import { translate } from './translate.js'

/** Who does not answer: a worker, the workflow that is not started yet, or the server itself. */
export type Silence =
  | { readonly of: 'worker'; readonly taskQueue: string }
  | { readonly of: 'workflow' }
  | { readonly of: 'server'; readonly error: unknown }

/** Why a query or an update was not answered: the server is there and no worker, or not even the server. */
export async function silenceOf(context: ClientContext, threadId: string): Promise<Silence> {
  try {
    const { taskQueue } = await context.call(LIMITS.snapshotQuery, () =>
      workflowOf(context, threadId).describe(),
    )
    return { of: 'worker', taskQueue }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return { of: 'workflow' }
    return { of: 'server', error: translate(error, { client: context.temporal(), threadId }) }
  }
}

/** The end of a sentence. */
export function describeSilence(silence: Silence): string {
  if (silence.of === 'workflow') return 'its workflow is not started yet'
  if (silence.of === 'server')
    return silence.error instanceof Error ? silence.error.message.replace(/\.$/, '') : String(silence.error)
  return `no worker answers on task queue "${silence.taskQueue}"; start one, or check its task queue`
}
