import { workflowInfo } from '@temporalio/workflow'
import type { WorkflowInterceptors } from '@temporalio/workflow'
import { THREAD_WORKFLOW } from '../protocol/messages.js'

/** The SDK reserves names with this prefix, and throws if such a signal comes to a workflow with a default handler. */
const RESERVED = '__temporal_'

/** The new name of such a signal: it has no handler, so the signal is recorded and skipped. */
const UNKNOWN = 'reserved'

/**
 * Renames signals of reserved names before the SDK sees them, for one would fail the workflow task for ever (T10). It does so
 * only in threads, and leaves workflows of the user in the same worker alone.
 */
export function interceptors(): WorkflowInterceptors {
  if (workflowInfo().workflowType !== THREAD_WORKFLOW) return {}
  return {
    internals: [
      {
        activate(input, next) {
          for (const { signalWorkflow } of input.activation.jobs ?? [])
            if (signalWorkflow?.signalName?.startsWith(RESERVED) === true) signalWorkflow.signalName = UNKNOWN
          return next(input)
        },
      },
    ],
  }
}
