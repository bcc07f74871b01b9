import type { ClientContext } from '../../client/client-context.js'
import { signalThread } from '../../client/signal-thread.js'
import { terminateThread } from '../../client/terminate-thread.js'
import type { ThreadSignal } from '../../client/thread-workflow.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { ThreadOperation, ToldOperation } from '../../protocol/operations.js'

interface Telling {
  readonly threadId: string
  /** Null for a root thread. */
  readonly parent: string | null
}

/** Tells workflows what an endpoint of a thread did to it, or to those around it: their rows are committed (T2). */
export function tellWorkflows(
  context: ClientContext,
  { threadId, parent }: Telling,
): (operation: ThreadOperation) => Promise<void> {
  return async (operation) => {
    if (operation.kind !== 'tell') return told(context, { to: threadId, from: undefined, operation })
    const { to, operation: inner } = operation
    await told(context, { to, from: to === parent ? 'child' : 'parent', operation: inner })
  }
}

interface Told {
  readonly to: string
  /** Who speaks to another thread. */
  readonly from: 'child' | 'parent' | undefined
  readonly operation: ThreadOperation
}

async function told(context: ClientContext, { to, from, operation }: Told): Promise<void> {
  if (operation.kind === 'terminate') await terminateThread(context, { threadId: to })
  else await signalThread(context, to, signalOf(operation, from))
}

/** As the workflow of another thread would tell it. */
function signalOf(operation: ThreadOperation, from: Told['from']): ThreadSignal {
  if (operation.kind === 'queue_message') {
    const { id: messageId, role } = operation
    return { name: SIGNALS.queueMessage, input: { messageId, role, ...(from !== undefined && { from }) } }
  }
  if (operation.kind === 'queue_tool')
    return { name: SIGNALS.queueTool, input: { toolCallId: operation.id, name: operation.name } }
  // A state without a run asks for nothing else; the workflow looks again (T10).
  return { name: SIGNALS.operations, input: { operations: [operation as ToldOperation] } }
}
