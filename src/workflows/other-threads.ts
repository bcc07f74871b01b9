/**
 * What a thread sends to other threads: reports to its parent, operations on relatives, and all that concerns its children.
 *
 * Child threads are child workflows, abandoned by policy (the policy would also bite when the parent continues as new); what
 * has to reach them is signalled explicitly, and each signal is acknowledged before the thread goes on (T2, T7, T8).
 */

import { ApplicationFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  ChildWorkflowFailure,
  ParentClosePolicy,
  TemporalFailure,
  TerminatedFailure,
  getExternalWorkflowHandle,
  isCancellation,
  sleep,
  startChild,
} from '@temporalio/workflow'
import type { ChildWorkflowHandle } from '@temporalio/workflow'

import type { DeliverReportAnswer, DeliverReportInput } from '../protocol/end-activities.js'
import { SIGNALS, startAttributes, THREAD_WORKFLOW, rootOf } from '../protocol/messages.js'
import type { ChildReport, QueueMessage, ThreadStart } from '../protocol/messages.js'
import { applyTermination } from '../thread/apply.js'
import type { DeferredChild, OutboundSignal, ThreadControl } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import { removeOutbound, createOutboundMessage } from '../thread/operations.js'
import { applyAnnouncement, applyDeliveredReport, reportKind } from '../thread/reports.js'
import type { DueReport } from '../thread/reports.js'
import { callActivity, untilStored } from './activities.js'
import type { ThreadHost } from './thread-host.js'
import type { ThreadResult } from '../protocol/activities.js'
import { STORE_MEMO } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { PreparedChild } from '../protocol/status.js'
import { markChildCancelled, applyChildStart, onMessageLost, onMessageSent } from '../thread/child-calls.js'
import { markStopForwarded } from '../thread/calls.js'
import {
  applyChildClose,
  applyChildExpiry,
  openDeferred,
  applyDeferredStart,
  postponeExpiry,
} from '../thread/children.js'
import type { CallIn } from '../thread/run.js'
import { removeFromCascade } from '../thread/settling.js'

/** The pause before a thread whose run refuses its 10,001st signal is signalled again: it continues as new when it can. */
const REFUSED_SIGNAL_PAUSE = 60_000

type OthersAction = Extract<
  Action,
  {
    readonly kind:
      | 'startChildren'
      | 'sendMessage'
      | 'stopChildren'
      | 'cancelTimedOut'
      | 'startDeferred'
      | 'expireChild'
      | 'cancelChild'
      | 'deliverReport'
      | 'announceReport'
      | 'sendOutbound'
  }
>

/** Carries out an action that concerns another thread, and applies its outcome. */
export function performForOthers(host: ThreadHost, action: OthersAction): Promise<void> {
  switch (action.kind) {
    case 'startChildren':
      return startChildren(host, action.call)
    case 'sendMessage':
      return sendMessage(host, action.call)
    case 'stopChildren':
      return stopChildren(host, action.call, action.references)
    case 'cancelTimedOut':
      return cancelTimedOut(host, action.call, action.reference)
    case 'startDeferred':
      return startDeferred(host, action.deferred)
    case 'expireChild':
      return expireChild(host, action.deferred)
    case 'cancelChild':
      return cancelChild(host, action.reference)
    case 'deliverReport':
      return deliverReport(host, action.due)
    case 'announceReport':
      return announceReport(host, action.report)
    case 'sendOutbound':
      return sendOutbound(host, action.signal)
  }
}

/** Writes the report into the parent's store, and repeats that until it succeeds; the announcement follows (T7). */
async function deliverReport(host: ThreadHost, due: DueReport): Promise<void> {
  const { parent } = host.control.start
  if (parent === undefined) return
  const answer = await untilStored(host, () => storeReport(host, due, parent))
  host.update((control) => applyDeliveredReport(control, due, answer))
  if (answer.type === 'delivered' && answer.terminated === true) host.update(applyTermination)
}

async function storeReport(
  host: ThreadHost,
  { ending, invocations, closes }: DueReport,
  parent: DeliverReportInput['parent'],
): Promise<DeliverReportAnswer | null> {
  const called = await callActivity(host, {
    name: 'deliverReport',
    limit: 0,
    summary: 'report to the parent',
    interruptedBy: null,
    input: {
      parent,
      report: host.control.reports + 1,
      invocations,
      closes,
      kind: reportKind(ending),
      reason: ending.reason,
      ...(ending.failure !== undefined && { failure: ending.failure }),
      sessionCall: ending.sessionCall,
    },
  })
  return called.kind === 'answered' ? called.answer : null
}

/** Signals the parent that the report is in its store; acknowledged before this thread goes on or closes. */
async function announceReport(host: ThreadHost, report: ChildReport): Promise<void> {
  const { parent } = host.control.start
  if (parent === undefined) return
  const taken = await sendUntilTaken(() =>
    getExternalWorkflowHandle(parent.threadId).signal(SIGNALS.childReport, report),
  )
  host.update((control) => applyAnnouncement(control, taken))
}

/** Sends an outbound signal: an operation on another thread, which is in that thread's rows already (T2). */
async function sendOutbound(host: ThreadHost, signal: OutboundSignal): Promise<void> {
  const message = createOutboundMessage(host.control, signal)
  const thread = getExternalWorkflowHandle(signal.to)
  await sendUntilTaken(() =>
    message.signal === null ? thread.cancel() : thread.signal(message.signal, message.input),
  )
  host.update(removeOutbound)
}

/** The SDK's failure type for a signal that exceeds the number which the run of the other thread can take; its next run can. */
const REFUSED = 'SignalCountLimitExceeded'

/**
 * Sends a signal or cancellation to another thread and awaits the acknowledgement. A thread that is gone needs none. If the run
 * of the other thread can take no more signals, sending is repeated until that thread has continued as new.
 */
async function sendUntilTaken(send: () => Promise<void>): Promise<'delivered' | 'gone'> {
  for (;;) {
    try {
      await send()
      return 'delivered'
    } catch (error) {
      if (!(error instanceof TemporalFailure)) throw error
      if (!(error instanceof ApplicationFailure) || error.type !== REFUSED) return 'gone'
      await sleep(REFUSED_SIGNAL_PAUSE, { summary: 'another thread continues as new' })
    }
  }
}

/** `agentThread`, by the shape that a parent starts it in: its module imports this one. */
type ThreadWorkflow = (start: ThreadStart) => Promise<ThreadResult>

/** A child that is to be started. */
interface StartedChild {
  readonly child: PreparedChild
  /** The call that it answers. */
  readonly callId: string
}

/** Starts the children whose rows are in the store, and awaits their started events. */
async function startChildren(host: ThreadHost, call: CallIn<'prepared'>): Promise<void> {
  const starts = call.starting.map(async (child) => {
    const { reference } = child
    const isObserved = await startThread(host, { child, callId: call.id })
    host.update((control) => applyChildStart(control, { callId: call.id, reference, isObserved }, Date.now()))
  })
  await Promise.all(starts)
}

/** Starts a child that has its variables now. */
async function startDeferred(host: ThreadHost, deferred: DeferredChild): Promise<void> {
  host.update((control) => openDeferred(control, deferred, Date.now()))
  const { callId } = deferred
  const isObserved = await startThread(host, { child: deferred, callId })
  host.update((control) => applyDeferredStart(control, deferred, { isObserved, now: Date.now() }))
}

/** Starts a child; "already started" counts as started. Returns whether its close event will reach this Temporal run. */
async function startThread(host: ThreadHost, { child, callId }: StartedChild): Promise<boolean> {
  const { reference, agent } = child
  const { store } = host.control.start
  const start = childStart(host.control, { child, callId })
  try {
    const handle = await startChild<ThreadWorkflow>(THREAD_WORKFLOW, {
      workflowId: reference,
      args: [start],
      searchAttributes: startAttributes(reference, start),
      parentClosePolicy: ParentClosePolicy.ABANDON,
      // A child does not inherit it: only continue-as-new passes it on.
      workflowTaskTimeout: LIMITS.workflowTask,
      memo: { agent, ...(store !== undefined && { [STORE_MEMO]: store }) },
      ...childLabels(host.control, child),
    })
    void awaitClose(host, reference, handle)
    return true
  } catch (error) {
    // After a reset the child of the first start still exists: it has its message and will report.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false
    throw error
  }
}

function childStart({ start, threadId }: ThreadControl, { child, callId }: StartedChild): ThreadStart {
  const { store, userId, searchAttributes, showsWork, page, limits } = start
  return {
    agent: child.agent,
    message: { messageId: child.messageId, from: 'parent', invocation: callId },
    ...(child.resumable ? {} : { resumable: false }),
    parent: { threadId, callId, root: rootOf(threadId, start) },
    ...(store === undefined ? {} : { store }),
    ...(userId === undefined ? {} : { userId }),
    ...(searchAttributes === undefined ? {} : { searchAttributes }),
    ...(showsWork === undefined ? {} : { showsWork }),
    ...(page === undefined ? {} : { page }),
    ...(limits === undefined ? {} : { limits }),
  }
}

/** Awaits the close event, which answers for a child that ends without a report; after a report the child owes nothing. */
async function awaitClose(
  host: ThreadHost,
  reference: string,
  handle: ChildWorkflowHandle<ThreadWorkflow>,
): Promise<void> {
  const status = await handle.result().then(() => 'completed', closeStatus)
  const now = Date.now()
  host.receive((control) => applyChildClose(control, { reference, status }, now))
}

function closeStatus(error: unknown): string {
  if (isCancellation(error)) return 'canceled'
  if (!(error instanceof ChildWorkflowFailure)) throw error
  return error.cause instanceof TerminatedFailure ? 'terminated' : 'failed'
}

/** Signals the message, which is in the child's store. If the child is gone, its close answers the call (T7). */
async function sendMessage(host: ThreadHost, call: CallIn<'addressed'>): Promise<void> {
  const { id: callId, reference, messageId, role } = call
  const message: QueueMessage = { messageId, role, from: 'parent', invocation: callId }
  const taken = await sendUntilTaken(() =>
    getExternalWorkflowHandle(reference).signal<[QueueMessage]>(SIGNALS.queueMessage, message),
  )
  host.update((control) =>
    taken === 'delivered'
      ? onMessageSent(control, callId, Date.now())
      : onMessageLost(control, { callId, reference, status: 'not_found' }, Date.now()),
  )
}

/** Forwards a stop to the children that a call waits for. */
async function stopChildren(
  host: ThreadHost,
  { id }: CallIn<'waiting'>,
  references: readonly string[],
): Promise<void> {
  await Promise.all(
    references.map((reference) =>
      sendUntilTaken(() => getExternalWorkflowHandle(reference).signal(SIGNALS.stop)),
    ),
  )
  host.update((control) => markStopForwarded(control, id, references))
}

/** Cancels a child whose call has timed out. */
async function cancelTimedOut(
  host: ThreadHost,
  { id }: CallIn<'reported'>,
  reference: string,
): Promise<void> {
  await sendUntilTaken(() => getExternalWorkflowHandle(reference).cancel())
  host.update((control) => markChildCancelled(control, id, reference))
}

/** Cancels a child of a closing thread; acknowledged before the thread closes. */
async function cancelChild(host: ThreadHost, reference: string): Promise<void> {
  await sendUntilTaken(() => getExternalWorkflowHandle(reference).cancel())
  host.update((control) => removeFromCascade(control, reference))
}

/** A child as its parent starts it. */
interface Labelled {
  readonly agent: string
  /** Its thread id; its own name is content. */
  readonly reference: string
}

/** The labels of a child in the Temporal UI: registered names and ids, never content (T5). */
function childLabels(
  { threadId, start }: ThreadControl,
  { agent, reference }: Labelled,
): { readonly staticSummary: string; readonly staticDetails: string } {
  const lines = [
    `Agent: ${agent}`,
    `Instance: ${reference}`,
    `Parent: ${threadId}`,
    `Root: ${rootOf(threadId, start)}`,
  ]
  return { staticSummary: agent, staticDetails: lines.join('  \n') }
}

/** Stores that the variables of a subagent did not come in time, unless the store has them after all. */
async function expireChild(host: ThreadHost, child: DeferredChild): Promise<void> {
  const { requestId } = child
  const called = await callActivity(host, {
    name: 'expireChild',
    limit: 0,
    summary: `expire ${child.agent}`,
    interruptedBy: null,
    input: { requestId, reference: child.reference },
  })
  host.update((control) =>
    called.kind === 'answered'
      ? applyChildExpiry(control, requestId, called.answer.messageId, Date.now())
      : postponeExpiry(control, requestId, Date.now()),
  )
}
