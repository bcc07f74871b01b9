import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client'
import type { WorkflowHandle } from '@temporalio/client'
import { STORE_MEMO } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import { THREAD_WORKFLOW } from '../protocol/messages.js'
import type { ThreadLimits, ThreadStart } from '../protocol/messages.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { ClientContext } from './client-context.js'
import { fairnessKey } from './fairness-key.js'
import { translate } from './translate.js'
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
export async function signalWorkflow(
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
