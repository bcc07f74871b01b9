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
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import type { ReopenedThread, ThreadLimits, ThreadStart } from '../protocol/messages.js'
import { digestOf } from '../store/digest.js'
import { lastRun } from '../store/threads/runs.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { requireOpenThread } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { GRPC, grpcStatusOf, translate } from './connection.js'

/** A signal of the wire contract and its one input, if it has one. */
export interface ThreadSignal {
  readonly name: string
  readonly input?: object
}

function workflowOf(context: ClientContext, threadId: string): WorkflowHandle {
  return context.temporal().workflow.getHandle(threadId)
}

type StartThread = { readonly limits?: ThreadLimits | undefined } & (
  | {
      /** The store has no run of it: whatever Temporal has closed under this id was another thread, deleted since. */
      readonly isNew: boolean
    }
  /** The thread is lost: this is the one start that may follow a closed workflow of the same id, for its row is open. */
  | { readonly reopened: ReopenedThread }
)

/**
 * Starts a thread's workflow, or finds it running. `closed`: there was one, and a closed thread is never revived.
 * A start carries no message, for the input of a second start is dropped.
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
    workflowTaskTimeout: LIMITS.workflowTask,
    // `doctor` reads the store there, also of threads of other stores.
    memo: {
      agent: thread.agent,
      [STORE_MEMO]: start.store,
      ...(thread.user_id !== null && { userId: thread.user_id }),
      ...(reopened !== null && { [REOPENED_MEMO]: true }),
    },
    staticSummary: thread.agent,
    // Activities and children have it from their workflow: the server passes it on.
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
    searchAttributes: await context.searchAttributes(thread.id),
    ...(limits !== undefined && { limits }),
  }
  if (!('reopened' in options)) return start
  return {
    ...start,
    ...(!thread.resumable && { resumable: false }),
    ...(parentId !== null && callId !== null && { parent: { threadId: parentId, callId, root } }),
    reopened: options.reopened,
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
  return (await describeWorkflow(context, threadId)).state === 'open' ? 'accepted' : 'gone'
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
    const { thread, hasRun } = await readThreadState(context, threadId)
    if (hasRun || Date.now() > deadline) throw lostThreadError(threadId)
    // A child is started by its parent alone, or it would be no child in Temporal.
    if (thread.parent_thread_id !== null) await sleep(CHILD_PAUSE)
    else if ((await startWorkflow(context, thread, { isNew: true })) === 'closed')
      throw lostThreadError(threadId)
  }
}

/** @throws ThreadTerminatedError: the row tells why Temporal has no workflow. */
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

/** Of a thread that the store has open while Temporal has no workflow of it. */
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
    const refusal = error instanceof WorkflowUpdateFailedError ? readRefusal(error) : undefined
    if (refusal !== undefined) return refusal
    if (repeats && isSpent(error)) return 'unknown'
    throw translate(error, { client: context.temporal(), threadId })
  }
}

/** A reset gives a workflow its Updates again: one that it refuses then is neither open nor ended for the server, and its id is of no more use. */
function isSpent(error: unknown): boolean {
  return error instanceof WorkflowUpdateFailedError || grpcStatusOf(error)?.code === GRPC.internal
}

function readRefusal(error: WorkflowUpdateFailedError): UpdateAnswer | undefined {
  const types = failureTypes(error)
  if (types.has('Request.NotFound') || types.has('Item.NotFound')) return 'unknown'
  if (types.has('Request.Invalid') || types.has('Item.Invalid')) return 'invalid'
  return types.has(CLOSED_MEANWHILE) ? 'gone' : undefined
}

/** What Temporal knows of a thread. */
export type WorkflowState =
  | OpenState
  /** With Temporal's status; `not_found`: its history is gone, or there was none. */
  | { readonly state: 'closed'; readonly status: string; readonly run: WorkflowRun | null }

interface OpenState {
  readonly state: 'open'
  readonly run: WorkflowRun
  readonly reopened: boolean
  /** Of its workflow task in flight, from 1. */
  readonly attempts: number
  /** The id of the store that its start named; null where it named none, or where a codec hides it. */
  readonly store: string | null
  /** The identity of the worker of another store that has refused its activity last; null where nobody has. */
  readonly refusedBy: string | null
  /** Activities that have failed and are tried again. */
  readonly failing: readonly FailingActivity[]
}

/** What the last attempt at an activity said: a type and a fixed sentence of ours (T5), or Temporal's own words. */
export interface FailingActivity {
  readonly type: string | null
  readonly message: string
  readonly attempts: number
}

/** The last run of a workflow id. */
interface WorkflowRun {
  readonly id: string
  /** Anybody may use the id of a thread for a workflow of another type. */
  readonly type: string
  readonly taskQueue: string
}

/** In the memo of a thread that was opened again, through continue-as-new. */
const REOPENED_MEMO = 'reopened'

/** Of Temporal's `WorkflowExecutionStatus`, whose enum is in a package that the client does not load. */
const CLOSED: ReadonlyMap<unknown, string> = new Map([
  [2, 'completed'],
  [3, 'failed'],
  [4, 'canceled'],
  [5, 'terminated'],
  [7, 'timed_out'],
])

/** Decodes nothing: whoever looks may lack the codec that a thread is stored with. @throws TemporalUnavailableError */
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
      attempts: task?.attempt ?? 0,
      store: readStoreMemo(fields),
      refusedBy: refusedBy(activities ?? []),
      failing: listFailing(activities ?? []),
    }
  } catch (error) {
    const failure = grpcStatusOf(error)
    if (failure?.code !== GRPC.notFound) throw translate(error, { client, threadId })
    if (!/^namespace /i.test(failure.details)) return { state: 'closed', status: 'not_found', run: null }
    throw translate(new NamespaceNotFoundError(namespace), { client, threadId })
  }
}

/** As raw responses have a payload. */
interface RawPayload {
  readonly metadata?: Readonly<Record<string, Uint8Array>> | null
  readonly data?: Uint8Array | null
}

/** The id of a thread's store, from its memo as Temporal has it; null where none is there, or where a codec hides it. */
export function readStoreMemo(
  fields: Readonly<Record<string, RawPayload>> | null | undefined,
): string | null {
  const { metadata, data } = fields?.[STORE_MEMO] ?? {}
  if (data == null || Buffer.from(metadata?.['encoding'] ?? []).toString() !== 'json/plain') return null
  const text = Buffer.from(data).toString()
  // Whatever it is that somebody has put there, it is compared and shown: only an id passes.
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

function refusedBy(activities: readonly RawActivity[]): string | null {
  const refused = activities.find(
    ({ lastFailure }) => lastFailure?.applicationFailureInfo?.type === OTHER_STORE,
  )
  return refused === undefined ? null : (refused.lastWorkerIdentity ?? '')
}
