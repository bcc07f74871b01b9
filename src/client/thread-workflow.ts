import { setTimeout as sleep } from 'node:timers/promises'
import {
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import type { WorkflowHandle } from '@temporalio/client'
import { MessageRejectedError } from '../protocol/errors.js'
import { failureTypes } from '../protocol/failures.js'
import { STORE_MEMO } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import type { ThreadLimits, ThreadStart } from '../protocol/messages.js'
import { digestOf } from '../store/digest.js'
import { lastRun } from '../store/threads/runs.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { openThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { isInternal, translate } from './connection.js'
import { lookAtWorkflow } from './workflow-state.js'

/** A signal of the wire contract and its one input, if it has one. */
export interface ThreadSignal {
  readonly name: string
  readonly input?: object
}

export function workflowOf(context: ClientContext, threadId: string): WorkflowHandle {
  return context.temporal().workflow.getHandle(threadId)
}

interface StartThread {
  readonly limits?: ThreadLimits | undefined
  /** The store has no run of it: whatever Temporal has closed under this id was another thread, deleted since. */
  readonly isNew: boolean
}

/**
 * Starts a thread's workflow, or finds it running. `closed`: there was one, and a closed thread is never revived.
 * A start carries no message, for the input of a second start is dropped.
 */
export async function startWorkflow(
  context: ClientContext,
  thread: ThreadRecord,
  { limits, isNew }: StartThread,
): Promise<'running' | 'closed'> {
  const start = await threadStart(context, thread, limits)
  const options = await startOptions(context, thread, start)
  const started = await callTemporal(context, thread.id, () =>
    context.temporal().workflow.start(THREAD_WORKFLOW, {
      ...options,
      workflowIdConflictPolicy: 'USE_EXISTING',
      workflowIdReusePolicy: isNew ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
    }),
  )
  return started === 'gone' ? 'closed' : 'running'
}

/** The start input of a thread, from its row. */
export async function threadStart(
  context: ClientContext,
  thread: ThreadRecord,
  limits?: ThreadLimits,
): Promise<ThreadStart> {
  const store = await context.store()
  return {
    agent: thread.agent,
    store: store.id,
    ...(thread.user_id !== null && { userId: thread.user_id }),
    ...(thread.tags.length > 0 && { tags: thread.tags }),
    searchAttributes: await context.searchAttributes(thread.id),
    ...(limits !== undefined && { limits }),
  }
}

/** How a thread is started, whatever may have been there before. */
export async function startOptions(context: ClientContext, thread: ThreadRecord, start: ThreadStart) {
  return {
    workflowId: thread.id,
    taskQueue: await context.taskQueue(),
    args: [start],
    workflowTaskTimeout: LIMITS.workflowTask,
    // `doctor` reads the store there, also of threads of other stores.
    memo: {
      agent: thread.agent,
      [STORE_MEMO]: start.store,
      ...(thread.user_id !== null && { userId: thread.user_id }),
    },
    staticSummary: thread.agent,
    // Activities and children have it from their workflow: the server passes it on.
    ...(thread.account !== null && { priority: { fairnessKey: fairnessKey(thread.account) } }),
  }
}

/** `gone`: Temporal has no open workflow of this id; the store tells whether it ever had one. */
async function signalWorkflow(
  context: ClientContext,
  threadId: string,
  { name, input }: ThreadSignal,
): Promise<'accepted' | 'gone'> {
  const signal = () =>
    workflowOf(context, threadId).signal<object[]>(name, ...(input === undefined ? [] : [input]))
  return (await callTemporal(context, threadId, signal)) === 'gone' ? 'gone' : 'accepted'
}

/** The server takes a cancel of a closed workflow too, as if it had done something: what follows tells. */
export async function cancelWorkflow(context: ClientContext, threadId: string): Promise<'accepted' | 'gone'> {
  const cancelled = await callTemporal(context, threadId, () => workflowOf(context, threadId).cancel())
  if (cancelled === 'gone') return 'gone'
  return (await lookAtWorkflow(context, threadId)).state === 'open' ? 'accepted' : 'gone'
}

/** The connection retries what is transient until the deadline; signals and starts are safe to repeat. */
async function callTemporal<T>(
  context: ClientContext,
  threadId: string,
  call: () => Promise<T>,
): Promise<T | 'gone'> {
  try {
    return await context.call(LIMITS.temporalCall, call)
  } catch (error) {
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowExecutionAlreadyStartedError)
      return 'gone'
    throw translate(error, { client: context.temporal(), threadId })
  }
}

/** What Temporal takes, in bytes. */
const KEY_BYTES = 64

/** Shares a busy task queue between accounts: the account's own id, or its digest where that is longer than Temporal takes. */
export function fairnessKey(account: string): string {
  return Buffer.byteLength(account) <= KEY_BYTES ? account : digestOf(account)
}

/** Between two looks for a child that its parent is about to start: that takes a few milliseconds. */
const CHILD_PAUSE = 100

/**
 * Signals an open thread; one whose row is there while its workflow is not started yet is started first.
 * @throws ThreadTerminatedError; MessageRejectedError when the thread is lost; TemporalUnavailableError
 */
export async function signalThread(
  context: ClientContext,
  threadId: string,
  signal: ThreadSignal,
): Promise<void> {
  const deadline = Date.now() + LIMITS.temporalCall
  for (;;) {
    if ((await signalWorkflow(context, threadId, signal)) === 'accepted') return
    const { thread, hasRun } = await stateOf(context, threadId)
    if (hasRun || Date.now() > deadline) throw lostThread(threadId)
    // A child is started by its parent alone, or it would be no child in Temporal.
    if (thread.parent_thread_id !== null) await sleep(CHILD_PAUSE)
    else if ((await startWorkflow(context, thread, { isNew: true })) === 'closed') throw lostThread(threadId)
  }
}

/** @throws ThreadTerminatedError: the row tells why Temporal has no workflow. */
async function stateOf(
  context: ClientContext,
  threadId: string,
): Promise<{ readonly thread: ThreadRecord; readonly hasRun: boolean }> {
  const store = await context.store()
  return store.read(async (db) => {
    const thread = await openThread(db, threadId)
    return { thread, hasRun: (await lastRun(db, threadId)) !== null }
  })
}

/** Of a thread that the store has open while Temporal has no workflow of it. */
export function lostThread(threadId: string): MessageRejectedError {
  return new MessageRejectedError(
    threadId,
    `Expected an open workflow of thread "${threadId}" in Temporal, got none while the store has the thread open: it is ` +
      'lost (terminated by an operator, or another namespace). Reopen it, terminate it, or check TEMPORAL_NAMESPACE.',
  )
}

/** An Update of the wire contract; the same id is applied once in a Temporal run. */
interface ThreadUpdate {
  readonly name: string
  readonly id: string
  readonly input: object
  /** Milliseconds. */
  readonly patience: number
  /** Another call may have sent this id before. @default false */
  readonly repeats?: boolean
}

/** `unknown`: the workflow has no such request or item; `silent`: nobody answered in time; `gone`: no open workflow. */
type UpdateAnswer = 'accepted' | 'unknown' | 'invalid' | 'silent' | 'gone'

/** What the server answers when the workflow closes with the Update in its hands. */
const CLOSED_MEANWHILE = 'AcceptedUpdateCompletedWorkflow'

export async function updateWorkflow(
  context: ClientContext,
  threadId: string,
  { name, id, input, patience, repeats = false }: ThreadUpdate,
): Promise<UpdateAnswer> {
  const update = () =>
    workflowOf(context, threadId).executeUpdate<unknown, [object]>(name, { updateId: id, args: [input] })
  try {
    await context.call(patience, update)
    return 'accepted'
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return 'silent'
    if (error instanceof WorkflowNotFoundError) return 'gone'
    const refusal = error instanceof WorkflowUpdateFailedError ? refusalOf(error) : undefined
    if (refusal !== undefined) return refusal
    if (repeats && isSpent(error)) return 'unknown'
    throw translate(error, { client: context.temporal(), threadId })
  }
}

/** A reset gives a workflow its Updates again: one that it refuses then is neither open nor ended for the server, and its id is of no more use. */
function isSpent(error: unknown): boolean {
  return error instanceof WorkflowUpdateFailedError || isInternal(error)
}

function refusalOf(error: WorkflowUpdateFailedError): UpdateAnswer | undefined {
  const types = failureTypes(error)
  if (types.has('Request.NotFound') || types.has('Item.NotFound')) return 'unknown'
  if (types.has('Request.Invalid') || types.has('Item.Invalid')) return 'invalid'
  return types.has(CLOSED_MEANWHILE) ? 'gone' : undefined
}
