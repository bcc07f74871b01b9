import type { ClientOptions } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'

/**
 * Client options for the time-skipping server. A worker without a cache drops a workflow task now and then, and the
 * server gives it out again when the task's timeout is over: ten seconds by default, of real time. Subagents have the
 * timeout of their parent.
 */
export const EAGER_RETRIES: Pick<ClientOptions, 'interceptors'> = {
  interceptors: {
    workflow: [
      {
        startWithDetails: ({ options, ...input }, next) =>
          next({ ...input, options: { ...options, workflowTaskTimeout: msToTs('2s') } }),
      },
    ],
  },
}
