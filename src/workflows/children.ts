/**
 * Child threads are child workflows, abandoned by policy (the policy would also bite when the parent continues as new);
 * what has to reach them is sent by us and awaited (T7, T8).
 */
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  ChildWorkflowFailure,
  ParentClosePolicy,
  TerminatedFailure,
  getExternalWorkflowHandle,
  isCancellation,
  startChild,
} from '@temporalio/workflow'
import type { ChildWorkflowHandle } from '@temporalio/workflow'
import type { ThreadResult } from '../protocol/activities.js'
import { STORE_MEMO } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { SIGNALS, THREAD_WORKFLOW, rootOf } from '../protocol/messages.js'
import type { QueueMessage, ThreadStart } from '../protocol/messages.js'
import type { PreparedChild } from '../protocol/status.js'
import { childCancelled, childStarted, messageLost, messageSent } from '../thread/child-calls.js'
import { stopForwarded } from '../thread/calls.js'
import {
  childClosed,
  childExpired,
  deferredOpened,
  deferredStarted,
  expiryFailed,
} from '../thread/children.js'
import type { DeferredChild, ThreadControl } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import type { CallIn } from '../thread/run.js'
import { childTold } from '../thread/settling.js'
import { callActivity } from './activities.js'
import { told } from './other-threads.js'
import type { ThreadHost } from './thread-host.js'

type ChildrenAction = Extract<
  Action,
  {
    readonly kind:
      | 'startChildren'
      | 'sendMessage'
      | 'stopChildren'
      | 'cancelLate'
      | 'startDeferred'
      | 'expireChild'
      | 'cancelChild'
  }
>

/** Carries out an action that concerns children and applies what came of it. */
export function performForChildren(host: ThreadHost, action: ChildrenAction): Promise<void> {
  switch (action.kind) {
    case 'startChildren':
      return startChildren(host, action.call)
    case 'sendMessage':
      return sendMessage(host, action.call)
    case 'stopChildren':
      return stopChildren(host, action.call, action.references)
    case 'cancelLate':
      return cancelLate(host, action.call, action.reference)
    case 'startDeferred':
      return startDeferred(host, action.deferred)
    case 'expireChild':
      return expireChild(host, action.deferred)
    case 'cancelChild':
      return cancelChild(host, action.reference)
  }
}

/** `agentThread`, by the shape that a parent starts it in: its module imports this one. */
type ThreadWorkflow = (start: ThreadStart) => Promise<ThreadResult>

/** What is known of a child that is to be started. */
interface Starting {
  readonly child: PreparedChild
  /** The call that it answers. */
  readonly callId: string
}

/** Starts the children whose rows are in the store, and awaits their started events. */
async function startChildren(host: ThreadHost, call: CallIn<'prepared'>): Promise<void> {
  const starts = call.starting.map(async (child) => {
    const { reference } = child
    const isObserved = await started(host, { child, callId: call.id })
    host.update((control) => childStarted(control, { callId: call.id, reference, isObserved }, Date.now()))
  })
  await Promise.all(starts)
}

/** Starts a child that has its variables now. */
async function startDeferred(host: ThreadHost, deferred: DeferredChild): Promise<void> {
  host.update((control) => deferredOpened(control, deferred, Date.now()))
  const { callId } = deferred
  const isObserved = await started(host, { child: deferred, callId })
  host.update((control) => deferredStarted(control, deferred, { isObserved, now: Date.now() }))
}

/** Whether its close event will reach this Temporal run; "already started" counts as started. */
async function started(host: ThreadHost, { child, callId }: Starting): Promise<boolean> {
  const { reference, agent } = child
  const { store } = host.control.start
  try {
    const handle = await startChild<ThreadWorkflow>(THREAD_WORKFLOW, {
      workflowId: reference,
      args: [childStart(host.control, { child, callId })],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      // It has none from its parent: continue-as-new alone hands it on.
      workflowTaskTimeout: LIMITS.workflowTask,
      memo: { agent, ...(store !== undefined && { [STORE_MEMO]: store }) },
      ...childLabels(host.control, child),
    })
    void observe(host, reference, handle)
    return true
  } catch (error) {
    // After a reset the child of the first try is still there: it has its message and will report.
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false
    throw error
  }
}

function childStart({ start, threadId }: ThreadControl, { child, callId }: Starting): ThreadStart {
  const { store, userId, searchAttributes, limits } = start
  return {
    agent: child.agent,
    message: { messageId: child.messageId, from: 'parent', invocation: callId },
    ...(child.resumable ? {} : { resumable: false }),
    parent: { threadId, callId, root: rootOf(threadId, start) },
    ...(store === undefined ? {} : { store }),
    ...(userId === undefined ? {} : { userId }),
    ...(searchAttributes === undefined ? {} : { searchAttributes }),
    ...(limits === undefined ? {} : { limits }),
  }
}

/** The close event answers for a child that ends without a report; one that reported is no longer owed by then. */
async function observe(
  host: ThreadHost,
  reference: string,
  handle: ChildWorkflowHandle<ThreadWorkflow>,
): Promise<void> {
  const status = await handle.result().then(() => 'completed', closeStatus)
  host.update((control) => childClosed(control, { reference, status }, Date.now()))
}

function closeStatus(error: unknown): string {
  if (isCancellation(error)) return 'canceled'
  if (!(error instanceof ChildWorkflowFailure)) throw error
  return error.cause instanceof TerminatedFailure ? 'terminated' : 'failed'
}

/** Sends the message that is in the child's store. One that is gone is answered for (T7). */
async function sendMessage(host: ThreadHost, call: CallIn<'addressed'>): Promise<void> {
  const { id: callId, reference, messageId, role } = call
  const message: QueueMessage = { messageId, role, from: 'parent', invocation: callId }
  const taken = await told(() =>
    getExternalWorkflowHandle(reference).signal<[QueueMessage]>(SIGNALS.queueMessage, message),
  )
  host.update((control) =>
    taken === 'told'
      ? messageSent(control, callId, Date.now())
      : messageLost(control, { callId, reference, status: 'not_found' }, Date.now()),
  )
}

/** Passes an interrupt on to the children that a call waits for. */
async function stopChildren(
  host: ThreadHost,
  { id }: CallIn<'waiting'>,
  references: readonly string[],
): Promise<void> {
  await Promise.all(
    references.map((reference) => told(() => getExternalWorkflowHandle(reference).signal(SIGNALS.stop))),
  )
  host.update((control) => stopForwarded(control, id, references))
}

/** Ends a child that nobody waits for any more. */
async function cancelLate(host: ThreadHost, { id }: CallIn<'reported'>, reference: string): Promise<void> {
  await told(() => getExternalWorkflowHandle(reference).cancel())
  host.update((control) => childCancelled(control, id, reference))
}

/** The cascade of terminate: acknowledged before the parent closes. */
async function cancelChild(host: ThreadHost, reference: string): Promise<void> {
  await told(() => getExternalWorkflowHandle(reference).cancel())
  host.update((control) => childTold(control, reference))
}

/** A child as its parent starts it. */
interface Labelled {
  readonly agent: string
  /** Its thread id: what its own name is, is content. */
  readonly reference: string
}

/** What the Temporal UI writes beside a child: registered names and ids, never content (T5). */
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

/** Nobody gave a subagent its variables in time: the store says so, unless they came after all. */
async function expireChild(host: ThreadHost, child: DeferredChild): Promise<void> {
  const { requestId } = child
  const called = await callActivity(host, {
    name: 'expireChild',
    limit: 0,
    summary: `expire ${child.agent}`,
    cutBy: null,
    input: { requestId, reference: child.reference },
  })
  host.update((control) =>
    called.kind === 'answered'
      ? childExpired(control, requestId, called.answer.messageId, Date.now())
      : expiryFailed(control, requestId, Date.now()),
  )
}
