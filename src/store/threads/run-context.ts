import type { ActionContext, ActionParent } from '../../policy/action.js'
import type { Budgets } from '../../policy/budget.js'
import { mergePermissions } from '../../policy/permissions.js'
import type { RunContext } from '../../policy/run-context.js'
import { globalRunId, runIdOf } from '../../protocol/ids.js'
import type { Reader } from '../store.js'
import { findToolCall } from '../calls/tool-calls.js'
import { findRun } from './runs.js'
import type { RunKey, RunRecord } from './runs.js'
import { isStopStored } from './stops.js'
import { agentChainOf, findThread } from './threads.js'
import type { ThreadRecord } from './threads.js'

/**
 * Reads the context of a run from the rows of the run, its thread and the root of its tree; null if there is no such run. It is read
 * when code asks for it, and outside of transactions that write: the row of a root is changed by its own runs.
 */
export async function readRunContext(db: Reader, key: RunKey): Promise<RunContext | null> {
  const read = await readContext(db, key)
  return read?.run == null ? null : read.context
}

/** The context of the run that made a call; null if there is no such call. */
export async function readCallContext(
  db: Reader,
  { threadId, callId }: { readonly threadId: string; readonly callId: string },
): Promise<RunContext | null> {
  const call = await findToolCall(db, threadId, callId)
  return call === null ? null : readRunContext(db, { threadId, number: call.run })
}

/** The step in which an action is judged. */
interface JudgedStep {
  readonly threadId: string
  readonly run: number
  readonly step: number
  /** Its agent, which has taken over since the row of the thread was written. */
  readonly agent: string
}

/** The same, for whoever judges an action of the run; null only without a thread, so that nothing is judged by less than there is. */
export async function readActionContext(
  db: Reader,
  { threadId, run, step, agent }: JudgedStep,
): Promise<ActionContext | null> {
  const read = await readContext(db, { threadId, number: run })
  if (read === null) return null
  const { thread, context } = read
  const { account, user_id: userId, tags } = thread
  return { ...context, threadId, agent, account, userId, tags, run, step, parent: parentOf(thread) }
}

function parentOf({
  parent_thread_id: threadId,
  parent_call_id: callId,
  origin,
}: ThreadRecord): ActionParent | null {
  if (threadId === null || origin === null) return null
  return { threadId, runId: runIdOf(origin.run), toolCallId: callId ?? '' }
}

interface Context {
  readonly thread: ThreadRecord
  readonly run: RunRecord | null
  readonly context: RunContext
}

async function readContext(db: Reader, key: RunKey): Promise<Context | null> {
  const { threadId, number } = key
  const [thread, run] = await Promise.all([findThread(db, threadId), findRun(db, key)])
  if (thread === null) return null
  const root = thread.root_thread_id === threadId ? thread : await findThread(db, thread.root_thread_id)
  const isStopped =
    run === null || run.ended_at === null
      ? thread.terminate_requested_at !== null || (await isStopStored(db, { threadId, run: number }))
      : run.outcome === 'cancelled'
  const rules = [thread.permissions?.permissions, run?.permissions].filter((one) => one != null)
  const context: RunContext = {
    runId: globalRunId(threadId, number),
    sessionId: thread.root_thread_id,
    traceId: run?.traceparent?.split('-')[1] ?? null,
    workspaceUri: root?.workspace_uri ?? null,
    parentRunId: parentRunOf(thread),
    agentChain: agentChainOf(thread),
    permissions: rules.length === 0 ? {} : mergePermissions(rules),
    budget: budgetsOf(thread, root),
    canceled: isStopped,
    metadata: root?.metadata ?? null,
  }
  return { thread, run, context }
}

function parentRunOf({ parent_thread_id: parent, origin }: ThreadRecord): string | null {
  return parent === null || origin === null ? null : globalRunId(parent, origin.run)
}

function budgetsOf({ budgets }: ThreadRecord, root: ThreadRecord | null): Budgets | null {
  const tree = root?.budgets?.tree
  const all = { ...budgets, ...(tree !== undefined && { tree }) }
  return Object.keys(all).length === 0 ? null : all
}
