import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { lookAtWorkflow } from './workflow-state.js'

/** Who does not answer: a worker, the workflow that is not started yet, or the server itself. */
export type Silence =
  | { readonly of: 'worker'; readonly taskQueue: string }
  | { readonly of: 'workflow' }
  | { readonly of: 'server'; readonly error: unknown }

/** Why a query or an update was not answered: the server is there and no worker, or not even the server. */
export async function silenceOf(context: ClientContext, threadId: string): Promise<Silence> {
  try {
    const { run } = await lookAtWorkflow(context, threadId, LIMITS.snapshotQuery)
    return run === null ? { of: 'workflow' } : { of: 'worker', taskQueue: run.taskQueue }
  } catch (error) {
    return { of: 'server', error }
  }
}

/** The end of a sentence. */
export function describeSilence(silence: Silence): string {
  if (silence.of === 'workflow') return 'its workflow is not started yet'
  if (silence.of === 'server')
    return silence.error instanceof Error ? silence.error.message.replace(/\.$/, '') : String(silence.error)
  return `no worker answers on task queue "${silence.taskQueue}"; start one, or check its task queue`
}
