import { LIMITS } from '../protocol/limits.js'
import type { ClientContext } from './client-context.js'
import { lookAtWorkflow } from './workflow-state.js'

/** Who does not answer: a worker, the workflow, which is not started yet or whose task fails, or the server itself. */
export type Silence =
  | { readonly of: 'worker'; readonly taskQueue: string }
  | { readonly of: 'workflow' }
  | { readonly of: 'task'; readonly attempts: number }
  | { readonly of: 'server'; readonly error: unknown }

/** A worker that dies or loses a thread from memory costs an attempt or two. */
const FEW_ATTEMPTS = 3

/** Why a query or an update was not answered: the server is there and no worker, or not even the server. */
export async function silenceOf(context: ClientContext, threadId: string): Promise<Silence> {
  try {
    const workflow = await lookAtWorkflow(context, threadId, LIMITS.snapshotQuery)
    const { run } = workflow
    if (workflow.state === 'open' && workflow.attempts > FEW_ATTEMPTS)
      return { of: 'task', attempts: workflow.attempts }
    return run === null ? { of: 'workflow' } : { of: 'worker', taskQueue: run.taskQueue }
  } catch (error) {
    return { of: 'server', error }
  }
}

/** The end of a sentence. */
export function describeSilence(silence: Silence): string {
  if (silence.of === 'workflow') return 'its workflow is not started yet'
  if (silence.of === 'task')
    return (
      `its workflow task has failed ${silence.attempts - 1} times; the log of the worker says why, and ` +
      '"npx everthread doctor" names threads with a codec or code that does not fit'
    )
  if (silence.of === 'server')
    return silence.error instanceof Error ? silence.error.message.replace(/\.$/, '') : String(silence.error)
  return `no worker answers on task queue "${silence.taskQueue}"; start one, or check its task queue`
}
