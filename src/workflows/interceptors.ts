import { workflowInfo } from '@temporalio/workflow'
import type { WorkflowInterceptors } from '@temporalio/workflow'
import { THREAD_WORKFLOW } from '../protocol/messages.js'

/** Names that begin so are the SDK's own; it throws for one that is sent to a workflow with a default handler. */
const RESERVED = '__temporal_'

/** What such a signal is called from here on: no handler knows it, so it is recorded and skipped. */
const UNKNOWN = 'reserved'

/**
 * Renames signals of reserved names before the SDK sees them, for one would fail the workflow task for ever (T10). Only in
 * threads: a user's workflow in the same worker behaves as it always did.
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
