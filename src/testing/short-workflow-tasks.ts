import type { ClientInterceptors } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'

/**
 * Without a cache the SDK's core now and then drops a workflow task that comes while it evicts the run; the server gives
 * it out again after this, and not after the ten seconds that an answer to a request may take.
 */
const TASK_TIMEOUT = msToTs('2 seconds')

export const shortWorkflowTasks: ClientInterceptors = {
  workflow: [
    {
      start: (input, next) =>
        next({ ...input, options: { workflowTaskTimeout: TASK_TIMEOUT, ...input.options } }),
    },
  ],
}
