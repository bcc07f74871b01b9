import { NoWorkerError } from '../protocol/errors.js'
import type { Kept } from '../protocol/errors.js'
import type { ClientContext } from './client-context.js'
import { silenceOf } from './silence.js'

/** The error of an Update that nobody took in time: which task queue has no worker, or that there is no server. */
export async function nobodyTook(context: ClientContext, threadId: string, kept: Kept): Promise<unknown> {
  const silence = await silenceOf(context, threadId)
  if (silence.of === 'server') return silence.error
  const taskQueue = silence.of === 'worker' ? silence.taskQueue : await context.taskQueue()
  return new NoWorkerError(threadId, { taskQueue, kept })
}
