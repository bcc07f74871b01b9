/**
 * Child threads are child workflows, abandoned by policy (the policy would also bite when the parent continues as new);
 * what has to reach them is sent by us and awaited (T7, T8).
 */
import {
  ChildWorkflowFailure,
  ParentClosePolicy,
  TerminatedFailure,
  getExternalWorkflowHandle,
  isCancellation,
  startChild,
} from '@temporalio/workflow'
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import type { ChildWorkflowHandle } from '@temporalio/workflow'
import { SIGNALS, THREAD_WORKFLOW } from '../protocol/messages.js'
import type { ThreadStart } from '../protocol/messages.js'
import { childClosed, childStarted, stopForwarded } from '../thread/children.js'
import type { CallIn, ThreadControl } from '../thread/control.js'
import { childTold } from '../thread/settling.js'
import type { agentThread } from './agent-thread.js'
import type { ThreadHost } from './thread-host.js'
import { told } from './told.js'

type Prepared = CallIn<'prepared'>

/** Starts the child whose rows are in the store, and awaits its started event; "already started" counts. */
export async function startChildThread(host: ThreadHost, call: Prepared): Promise<void> {
  const handle = await started(host.control, call)
  host.update((control) => childStarted(control, call, handle !== null))
  if (handle !== null) void observe(host, call.reference, handle)
}

async function started(
  control: ThreadControl,
  call: Prepared,
): Promise<ChildWorkflowHandle<typeof agentThread> | null> {
  try {
    return await startChild<typeof agentThread>(THREAD_WORKFLOW, {
      workflowId: call.reference,
      args: [childStart(control, call)],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      memo: { agent: call.agent },
      staticSummary: call.agent,
    })
  } catch (error) {
    // After a reset the child of the first try is still there: it has its message and will report.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return null
    throw error
  }
}

function childStart(control: ThreadControl, call: Prepared): ThreadStart {
  const { userId, searchAttributes, limits } = control.start
  return {
    agent: call.agent,
    message: { messageId: call.messageId, from: 'parent' },
    resumable: false,
    parent: { threadId: control.threadId, callId: call.id },
    ...(userId === undefined ? {} : { userId }),
    ...(searchAttributes === undefined ? {} : { searchAttributes }),
    ...(limits === undefined ? {} : { limits }),
  }
}

/** The close event answers for a child that ends without a report; one that reported is no longer owed by then. */
async function observe(
  host: ThreadHost,
  reference: string,
  handle: ChildWorkflowHandle<typeof agentThread>,
): Promise<void> {
  const status = await handle.result().then(() => 'completed', closeStatus)
  host.update((control) => childClosed(control, { reference, status }, Date.now()))
}

function closeStatus(error: unknown): string {
  if (isCancellation(error)) return 'canceled'
  if (!(error instanceof ChildWorkflowFailure)) throw error
  return error.cause instanceof TerminatedFailure ? 'terminated' : 'failed'
}

/** Passes an interrupt on to the child that a call waits for. */
export async function stopChildThread(host: ThreadHost, call: CallIn<'waiting'>): Promise<void> {
  await told(() => getExternalWorkflowHandle(call.reference).signal(SIGNALS.stop))
  host.update((control) => stopForwarded(control, call.id))
}

/** The cascade of terminate: acknowledged before the parent closes. */
export async function cancelChild(host: ThreadHost, reference: string): Promise<void> {
  await told(() => getExternalWorkflowHandle(reference).cancel())
  host.update((control) => childTold(control, reference))
}
