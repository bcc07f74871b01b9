import { CancelledFailure } from '@temporalio/workflow'
import type { CancellationScope } from '@temporalio/workflow'
import type { ThreadResult } from '../protocol/activities.js'
import type { Closing } from '../thread/control.js'
import type { ThreadHost } from './thread-host.js'

/** A thread that was cancelled closes as Canceled, every other one as Completed: both soft, through its own code. */
export function closeWorkflow(
  host: ThreadHost,
  { closing }: { readonly closing: Closing },
  root: CancellationScope,
): ThreadResult {
  if (root.consideredCancelled) throw new CancelledFailure('The thread was terminated.')
  return { threadId: host.control.threadId, outcome: closing.outcome, reason: closing.reason }
}
