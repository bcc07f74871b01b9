import type { WorkerOptions } from '@temporalio/worker'

import { LIMITS } from '../protocol/limits.js'

/** How a worker of threads differs from Temporal's defaults; each holds only where its user set none. */
export const WORKER_KNOBS = {
  /** A stop reaches a running call with its next heartbeat: 16 to 22 s by default, about 1 s with this. */
  maxHeartbeatThrottleInterval: '1s',
  /** How long a thread stands still when its worker dies; 10 s by default. */
  stickyQueueScheduleToStartTimeout: '2s',
  /** A deploy lets model calls finish: a shorter grace time makes every longer one be paid again. */
  shutdownGraceTime: LIMITS.modelCall,
} as const satisfies Partial<WorkerOptions>
