import { setTimeout as sleep } from 'node:timers/promises'

import {
  NamespaceNotFoundError,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client'
import type { WorkflowHandle, WorkflowStartOptions } from '@temporalio/client'

import { MessageRejectedError } from '../protocol/errors.js'
import { failureTypes } from '../protocol/failures.js'
import type { FailureType } from '../protocol/failures.js'
import { STORE_MEMO, isStoreId } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { startAttributes, THREAD_WORKFLOW } from '../protocol/messages.js'
import type { ReopenedThread, ThreadLimits, ThreadStart } from '../protocol/messages.js'
import { digestOf } from '../store/digest.js'
import { requireOpenThread } from '../store/threads/open-threads.js'
import { lastRun } from '../store/threads/runs.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { ClientContext } from './client-context.js'
import { GRPC, grpcStatusOf, translate } from './connection.js'

/** A signal of the wire contract, with its one input if it has one. */
export interface ThreadSignal {
  readonly name: string
  readonly input?: object
}

function workflowOf(context: ClientContext, threadId: string): WorkflowHandle {
  return context.temporal().workflow.getHandle(threadId)
}

/** The start of a thread that may be new, beside its row. */
export interface NewThreadStart {
  readonly thread: ThreadRecord
  readonly limits?: ThreadLimits | undefined
  readonly isNew: boolean
}

type StartThread = { readonly limits?: ThreadLimits | undefined } & (
  | {
      /**
       * The store has no run of it: a closed workflow of this id in Temporal belongs to another thread, which was
       * deleted since.
       */
      readonly isNew: boolean
    }
  /** The thread is lost: only this start may follow a closed workflow of the same id, because the row is open. */
  | { readonly reopened: ReopenedThread }
)

/**
 * Starts a thread's workflow, or finds it running. `closed`: a workflow of this id has closed, and a closed thread is never
 * revived. A start carries no message, because Temporal drops the input of a second start.
 */
export async function startWorkflow(
  context: ClientContext,
  thread: ThreadRecord,
  options: StartThread,
): Promise<'running' | 'closed'> {
  const start = await startOptions(context, thread, options)
  const started = await callTemporal(context, thread.id, () =>
    context.temporal().workflow.start(THREAD_WORKFLOW, start),
  )
  return started === 'gone' ? 'closed' : 'running'
}

/** The input and options of a start, from the row of the thread. */
async function startOptions(
  context: ClientContext,
  thread: ThreadRecord,
  options: StartThread,
): Promise<WorkflowStartOptions> {
  const reopened = 'reopened' in options ? options.reopened : null
  const start = await startInput(context, thread, options)
  return {
    workflowId: thread.id,
    taskQueue: await context.taskQueue(),
    args: [start],
    searchAttributes: startAttributes(thread.id, start),
    workflowTaskTimeout: LIMITS.workflowTask,
    // `doctor` reads the id of the store from the memo, also for threads of other stores.
    memo: {
      agent: thread.agent,
      [STORE_MEMO]: start.store,
      ...(thread.user_id !== null && { userId: thread.user_id }),
      ...(reopened !== null && { [REOPENED_MEMO]: true }),
    },
    staticSummary: thread.agent,
    // Activities and children inherit the key from their workflow: the server passes it on.
    ...(thread.account !== null && { priority: { fairnessKey: fairnessKey(thread.account) } }),
    workflowIdConflictPolicy: reopened === null ? 'USE_EXISTING' : 'FAIL',
    workflowIdReusePolicy: !('isNew' in options) || options.isNew ? 'ALLOW_DUPLICATE' : 'REJECT_DUPLICATE',
  }
}

async function startInput(
  context: ClientContext,
  thread: ThreadRecord,
  options: StartThread,
): Promise<ThreadStart> {
  const { parent_thread_id: parentId, parent_call_id: callId, root_thread_id: root } = thread
  const { limits } = options
  const store = await context.store()
  const start = {
    agent: thread.agent,
    store: store.id,
    ...(thread.user_id !== null && { userId: thread.user_id }),
    ...(thread.tags.length > 0 && { tags: thread.tags }),
    ...(await context.searchAttributes(thread.id)),
    ...(context.pageUrl !== undefined && { page: context.pageUrl }),
    ...(limits !== undefined && { limits }),
    ...(thread.forked_from !== null && { runs: thread.forked_from.runs }),
  }
  if (!('reopened' in options)) return start
  return {
    ...start,
    ...(!thread.resumable && { resumable: false }),
    ...(parentId !== null && callId !== null && { parent: { threadId: parentId, callId, root } }),
    reopened: options.reopened,
  }
}

/** `gone`: Temporal has no open workflow of this id; the rows show whether it ever had one. */
async function signalWorkflow(
  context: ClientContext,
  threadId: string,
  { name, input }: ThreadSignal,
): Promise<'accepted' | 'gone'> {
  const signal = () =>
    workflowOf(context, threadId).signal<object[]>(name, ...(input === undefined ? [] : [input]))
  return (await callTemporal(context, threadId, signal)) === 'gone' ? 'gone' : 'accepted'
}

/** One request, and one action of Temporal Cloud, where a start and a signal are two. `gone`: its workflow has closed. */
async function signalWithStart(
  context: ClientContext,
  { name, input }: ThreadSignal,
  { thread, ...options }: NewThreadStart,
): Promise<'accepted' | 'gone'> {
  const start = await startOptions(context, thread, options)
  const signalArgs = input === undefined ? [] : [input]
  const signalled = await callTemporal(context, thread.id, () =>
    context.temporal().workflow.signalWithStart(THREAD_WORKFLOW, { ...start, signal: name, signalArgs }),
  )
  return signalled === 'gone' ? 'gone' : 'accepted'
}

/** Cancels a workflow. The server accepts the cancellation of a closed workflow too, so the state is read afterwards. */
export async function cancelWorkflow(context: ClientContext, threadId: string): Promise<'accepted' | 'gone'> {
  const cancelled = await callTemporal(context, threadId, () => workflowOf(context, threadId).cancel())
  if (cancelled === 'gone') return 'gone'
  return (await describeWorkflow(context, threadId)).state === 'open' ? 'accepted' : 'gone'
}

/** Calls Temporal. The connection retries transient errors until the deadline, which is safe for signals and starts. */
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

/** The longest fairness key that Temporal accepts, in bytes. */
const KEY_BYTES = 64

/** The key by which accounts share a busy task queue: the account itself, or its digest where it is too long for Temporal. */
export function fairnessKey(account: string): string {
  return Buffer.byteLength(account) <= KEY_BYTES ? account : digestOf(account)
}

/** The pause between two attempts to signal a child that its parent is about to start, which takes a few milliseconds. */
const CHILD_PAUSE = 100

/**
 * Signals an open thread. If its workflow is not started yet, it is started first; with `start`, in the same call.
 * @throws ThreadTerminatedError; MessageRejectedError when the thread is lost; TemporalUnavailableError
 */
export async function signalThread(
  context: ClientContext,
  threadId: string,
  signal: ThreadSignal,
  start?: NewThreadStart,
): Promise<void> {
  if (start !== undefined && (await signalWithStart(context, signal, start)) === 'accepted') return
  const deadline = Date.now() + LIMITS.temporalCall
  for (;;) {
    if ((await signalWorkflow(context, threadId, signal)) === 'accepted') return
    const { thread, hasRun } = await readThreadState(context, threadId)
    if (hasRun || Date.now() > deadline) throw lostThreadError(threadId)
    // Only the parent starts a child: started from here, it would be no child in Temporal.
    if (thread.parent_thread_id !== null) await sleep(CHILD_PAUSE)
    else if ((await startWorkflow(context, thread, { isNew: true })) === 'closed')
      throw lostThreadError(threadId)
  }
}

/** Reads from the rows why Temporal has no workflow. @throws ThreadTerminatedError */
async function readThreadState(
  context: ClientContext,
  threadId: string,
): Promise<{ readonly thread: ThreadRecord; readonly hasRun: boolean }> {
  const store = await context.store()
  return store.read(async (db) => {
    const thread = await requireOpenThread(db, threadId)
    return { thread, hasRun: (await lastRun(db, threadId)) !== null }
  })
}

/** The error for a thread whose row is open while Temporal has no workflow of it. */
export function lostThreadError(threadId: string): MessageRejectedError {
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
  /** True when another call may have sent this id before. @default false */
  readonly repeats?: boolean
}

/** `unknown`: the workflow has no such request or item; `silent`: no worker answered in time; `gone`: no workflow is open. */
type UpdateAnswer = 'accepted' | 'unknown' | 'invalid' | 'silent' | 'gone'

/** The failure type of the server for an Update that was accepted by a workflow which closed before its outcome. */
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
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || isStuck(error)) return 'silent'
    if (error instanceof WorkflowNotFoundError) return 'gone'
    const refusal = error instanceof WorkflowUpdateFailedError ? readRefusal(error) : undefined
    if (refusal !== undefined) return refusal
    if (repeats && isSpent(error)) return 'unknown'
    throw translate(error, { client: context.temporal(), threadId })
  }
}

/**
 * Whether the id of an Update cannot be used any more. A reset delivers the Updates of a workflow again; for the server, one
 * that is refused then is neither open nor completed.
 */
function isSpent(error: unknown): boolean {
  return error instanceof WorkflowUpdateFailedError || grpcStatusOf(error)?.code === GRPC.internal
}

/** Whether the server refuses the Update at once because the task of the workflow keeps failing: no worker would take it. */
function isStuck(error: unknown): boolean {
  return /workflow task in failed state/i.test(grpcStatusOf(error)?.details ?? '')
}

function readRefusal(error: WorkflowUpdateFailedError): UpdateAnswer | undefined {
  const types = failureTypes(error)
  if (types.has('Request.NotFound') || types.has('Item.NotFound')) return 'unknown'
  if (types.has('Request.Invalid') || types.has('Item.Invalid')) return 'invalid'
  return types.has(CLOSED_MEANWHILE) ? 'gone' : undefined
}

/** The state of a thread's workflow in Temporal. */
export type WorkflowState =
  | OpenState
  /** `status` is Temporal's; `not_found`: its history is deleted, or there was none. */
  | { readonly state: 'closed'; readonly status: string; readonly run: WorkflowRun | null }

interface OpenState {
  readonly state: 'open'
  readonly run: WorkflowRun
  readonly reopened: boolean
  /**
   * Whether it has neither a workflow task nor an activity: then it has taken every acknowledged signal. Null where a description
   * does not tell: a paused workflow has no tasks, and the time-skipping server of tests does not describe them.
   */
  readonly rests: boolean | null
  /** The attempt of its workflow task in flight, from 1. */
  readonly attempts: number
  /** The id of the store in the memo of its start; null where there is none, or where a codec hides it. */
  readonly store: string | null
  /** The identity of the worker of another store that was the last to refuse its activity; null where none has. */
  readonly refusedBy: string | null
  /** Activities that have failed and are retried. */
  readonly failing: readonly FailingActivity[]
}

/** The last failure of an activity: a type and a fixed sentence of ours (T5), or Temporal's own text. */
export interface FailingActivity {
  readonly type: string | null
  readonly message: string
  readonly attempts: number
}

/** The last Temporal run of a workflow id. */
interface WorkflowRun {
  readonly id: string
  /** A user's own workflow of another type may have the id of a thread. */
  readonly type: string
  readonly taskQueue: string
}

/** The memo field of a reopened thread; continue-as-new keeps it. */
const REOPENED_MEMO = 'reopened'

/** Numbers of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const RUNNING = 1
const CLOSED: ReadonlyMap<unknown, string> = new Map([
  [2, 'completed'],
  [3, 'failed'],
  [4, 'canceled'],
  [5, 'terminated'],
  [7, 'timed_out'],
])

/**
 * Reads the state of a workflow. It decodes nothing: this process may lack the codec of the thread. @throws
 * TemporalUnavailableError
 */
export async function describeWorkflow(
  context: ClientContext,
  threadId: string,
  patience: number = LIMITS.temporalCall,
): Promise<WorkflowState> {
  const client = context.temporal()
  const { namespace } = client.options
  const request = { namespace, execution: { workflowId: threadId } }
  try {
    const found = await context.call(patience, () =>
      client.workflowService.describeWorkflowExecution(request),
    )
    const { workflowExecutionInfo: info, pendingWorkflowTask: task, pendingActivities: activities } = found
    const run = {
      id: info?.execution?.runId ?? '',
      type: info?.type?.name ?? '',
      taskQueue: info?.taskQueue ?? '',
    }
    const status = CLOSED.get(info?.status)
    if (status !== undefined) return { state: 'closed', status, run }
    const fields = info?.memo?.fields ?? {}
    return {
      state: 'open',
      run,
      reopened: Object.hasOwn(fields, REOPENED_MEMO),
      rests: showsTasks(info) ? task == null && (activities ?? []).length === 0 : null,
      attempts: task?.attempt ?? 0,
      store: readStoreMemo(fields),
      refusedBy: findRefusingWorker(activities ?? []),
      failing: listFailing(activities ?? []),
    }
  } catch (error) {
    const failure = grpcStatusOf(error)
    if (failure?.code !== GRPC.notFound) throw translate(error, { client, threadId })
    if (!/^namespace /i.test(failure.details)) return { state: 'closed', status: 'not_found', run: null }
    throw translate(new NamespaceNotFoundError(namespace), { client, threadId })
  }
}

interface RawExecution {
  readonly status?: unknown
  readonly stateTransitionCount?: { toNumber(): number } | null
}

/** Every server counts the transitions of a workflow but the time-skipping one: it is recognized by that. */
function showsTasks(info: RawExecution | null | undefined): boolean {
  return info?.status === RUNNING && (info.stateTransitionCount?.toNumber() ?? 0) > 0
}

/** A payload as raw responses have it. */
interface RawPayload {
  readonly metadata?: Readonly<Record<string, Uint8Array>> | null
  readonly data?: Uint8Array | null
}

/** Reads the id of a thread's store from its raw memo; null where there is none, or where a codec hides it. */
export function readStoreMemo(
  fields: Readonly<Record<string, RawPayload>> | null | undefined,
): string | null {
  const { metadata, data } = fields?.[STORE_MEMO] ?? {}
  if (data == null || Buffer.from(metadata?.['encoding'] ?? []).toString() !== 'json/plain') return null
  const text = Buffer.from(data).toString()
  // Anybody may have written the memo, and the value is compared and shown: only an id passes.
  const store = /^"(.*)"$/.exec(text)?.[1]
  return isStoreId(store) ? store : null
}

interface RawActivity {
  readonly lastWorkerIdentity?: string | null
  readonly attempt?: number | null
  readonly lastFailure?: {
    readonly message?: string | null
    readonly applicationFailureInfo?: { readonly type?: string | null } | null
  } | null
}

const OTHER_STORE: FailureType = 'Thread.OtherStore'

function listFailing(activities: readonly RawActivity[]): readonly FailingActivity[] {
  return activities.flatMap(({ lastFailure, attempt }) => {
    if (lastFailure == null) return []
    const type = lastFailure.applicationFailureInfo?.type ?? null
    return [{ type, message: lastFailure.message ?? '', attempts: attempt ?? 0 }]
  })
}

function findRefusingWorker(activities: readonly RawActivity[]): string | null {
  const refused = activities.find(
    ({ lastFailure }) => lastFailure?.applicationFailureInfo?.type === OTHER_STORE,
  )
  return refused === undefined ? null : (refused.lastWorkerIdentity ?? '')
}
