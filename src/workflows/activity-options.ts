import { ActivityCancellationType } from '@temporalio/workflow'
import type { ActivityOptions } from '@temporalio/workflow'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadControl } from '../thread/control.js'

export interface ActivityPlace {
  /** Milliseconds. */
  readonly limit: number
  /** Registered names only: it is shown in the Temporal UI. */
  readonly summary: string
  /** Null: the thread's own. */
  readonly taskQueue: string | null
}

/**
 * Options of an activity whose own limit is `limit` milliseconds. Each reason is in design 13: the inner limit always
 * wins over start-to-close; a worker that died is noticed after the heartbeat timeout; failures of store and worker are
 * retried for a day; a cut activity is awaited, so that nothing runs twice (T1).
 */
export function activityOptions(
  control: ThreadControl,
  { limit, summary, taskQueue }: ActivityPlace,
): ActivityOptions {
  return {
    ...(taskQueue === null ? {} : { taskQueue }),
    startToCloseTimeout: limit + LIMITS.startToCloseSlack,
    scheduleToCloseTimeout: LIMITS.scheduleToClose,
    heartbeatTimeout: control.start.limits?.heartbeatTimeout ?? LIMITS.heartbeatTimeout,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: {
      initialInterval: LIMITS.retryFirst,
      backoffCoefficient: LIMITS.retryGrowth,
      maximumInterval: LIMITS.retryLast,
    },
    summary,
  }
}
