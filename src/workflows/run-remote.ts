import { ActivityFailure, CancelledFailure, proxyActivities } from '@temporalio/workflow'
import { idempotencyKeyOf } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { RemoteCallInput } from '../protocol/remote-call.js'
import { remoteReturned } from '../thread/call-answers.js'
import type { CallIn } from '../thread/call-state.js'
import { endingOf } from '../thread/next-action.js'
import { activityOptions } from './activity-options.js'
import type { ThreadHost } from './thread-host.js'

/**
 * A tool in another language: ids go there, and nothing of what comes back is read (T5). However its activity ends, the
 * store says what came of it; one that a stop or terminate has cut is closed with its run.
 */
export async function runRemote(host: ThreadHost, { id, name, remote }: CallIn<'remote'>): Promise<void> {
  const { control, level } = host
  const { threadId } = control
  const { taskQueue, activity, timeout } = remote
  const options = activityOptions(control, { limit: timeout, summary: `tool ${name}`, taskQueue })
  const activities = proxyActivities<Record<string, (input: RemoteCallInput) => Promise<unknown>>>({
    ...options,
    startToCloseTimeout: timeout + LIMITS.remoteSlack,
    retry: {
      ...options.retry,
      backoffCoefficient: LIMITS.remoteRetryGrowth,
      maximumAttempts: LIMITS.remoteAttempts,
    },
  })
  const run = activities[activity]
  if (run === undefined) throw new Error(`There is no activity ${activity}.`)
  host.startsAction(Date.now())
  const input = { level, threadId, callId: id, idempotencyKey: idempotencyKeyOf(threadId, id) }
  try {
    await host.cancellable(() => run(input), 'stop')
  } catch (error) {
    if (!(error instanceof CancelledFailure) && !(error instanceof ActivityFailure)) throw error
    if (endingOf(host.control) !== null) return
  }
  host.update((current) => remoteReturned(current, id))
}
