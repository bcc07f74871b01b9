import { setTimeout as sleep } from 'node:timers/promises'
import { ThreadConflictError, ThreadError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { THREAD_WORKFLOW } from '../../protocol/messages.js'
import { deleteThreadRows, markDeleting } from '../../store/threads/retention.js'
import { subtreeOf } from '../../store/threads/thread-tree.js'
import type { ClientContext } from '../client-context.js'
import { GRPC, grpcStatusOf, isRefusal, translate } from '../connection.js'
import { terminateThread } from '../terminate-thread.js'
import { describeWorkflow } from '../thread-workflow.js'

/** How long a deletion waits for its threads to close: twice the time after which a dead worker is noticed. */
const CLOSE_PATIENCE = 60_000

export interface DeleteThread {
  /** Terminates the open threads of the tree first, and waits until they are closed. @default false: an open tree is refused */
  readonly terminate?: boolean
}

export interface DeletedThread {
  /** The number of threads whose rows are deleted. */
  readonly threads: number
  /** The threads whose histories Temporal kept, and why: these end with its retention, and hold no content (T5). */
  readonly kept: readonly KeptHistory[]
}

export interface KeptHistory {
  readonly threadId: string
  readonly problem: string
}

/** The pause between two checks whether all threads of a tree are closed. */
const PAUSE = 250

/**
 * Deletes a thread and all threads below it: histories first, then rows, each thread before the one that started it. The
 * next call finishes an interrupted deletion; where no thread is left, it does nothing.
 * @throws ThreadConflictError for a tree that is open; TemporalUnavailableError
 */
export async function deleteThread(
  context: ClientContext,
  threadId: string,
  { terminate = false }: DeleteThread = {},
): Promise<DeletedThread> {
  await close(context, threadId, terminate)
  const store = await context.store()
  const threads = await store.read((db) => subtreeOf(db, threadId))
  const kept: KeptHistory[] = []
  // A thread of this id may have been created anew since.
  if (threads.length > 0 && !(await store.write((tx) => markDeleting(tx, threadId))))
    return deleteThread(context, threadId, { terminate })
  for (const { id } of threads) {
    const problem = await deleteHistories(context, id)
    if (problem !== null) kept.push({ threadId: id, problem })
    await deleteThreadRows(store, id)
  }
  return { threads: threads.length, kept }
}

async function close(context: ClientContext, threadId: string, terminate: boolean): Promise<void> {
  const until = Date.now() + CLOSE_PATIENCE
  for (;;) {
    const open = await listOpen(context, threadId)
    if (open.length === 0) return
    if (!terminate)
      throw conflictError(threadId, `${open.length} that are open: terminate it, or pass "terminate"`)
    if (Date.now() > until)
      throw conflictError(
        threadId,
        `${open.length} that no worker has closed: start one, then delete it again`,
      )
    // The cascade ends children whose parent exists; this list also has those whose parent is gone.
    for (const id of open) await terminateThread(context, { threadId: id, reason: 'deleted' })
    await sleep(PAUSE)
  }
}

/** Lists the open threads of a tree, the highest ones first: these end the threads below them. */
async function listOpen(context: ClientContext, threadId: string): Promise<readonly string[]> {
  const store = await context.store()
  const threads = await store.read((db) => subtreeOf(db, threadId))
  return threads.flatMap(({ id, closedAt }) => (closedAt === null ? [id] : [])).toReversed()
}

function conflictError(threadId: string, problem: string): ThreadConflictError {
  return new ThreadConflictError(threadId, {
    problem: `Expected "${threadId}" and all threads below it to be closed, got ${problem}.`,
  })
}

/**
 * Deletes the histories of all Temporal runs of a closed thread; the server does so in its own time. Returns why the server
 * keeps a history, or null. @throws TemporalUnavailableError
 */
async function deleteHistories(context: ClientContext, threadId: string): Promise<string | null> {
  try {
    for (const runId of await listRunIds(context, threadId)) await deleteRun(context, threadId, runId)
    return null
  } catch (error) {
    const translated = translate(error, { client: context.temporal(), threadId })
    if (!isRefusal(error)) throw translated
    return ThreadError.isInstance(translated) ? translated.message : 'The server does not delete histories.'
  }
}

/**
 * Lists the Temporal runs of a thread, by workflow type too, because a user's own workflow may have the same id. The list of
 * the server lags behind, so the last run is looked up by itself. Nothing is decoded: this process may lack the codec.
 */
async function listRunIds(context: ClientContext, threadId: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  const { run } = await describeWorkflow(context, threadId)
  if (run?.type === THREAD_WORKFLOW) ids.add(run.id)
  const id = threadId.replaceAll('\\', '\\\\').replaceAll("'", "\\'")
  const query = `WorkflowId = '${id}' AND WorkflowType = '${THREAD_WORKFLOW}'`
  const { workflowService, options } = context.temporal()
  for (let nextPageToken: Uint8Array = new Uint8Array(); ;) {
    const request = { namespace: options.namespace, query, nextPageToken }
    const page = await context.call(LIMITS.temporalCall, () =>
      workflowService.listWorkflowExecutions(request),
    )
    for (const { execution } of page.executions) if (execution?.runId != null) ids.add(execution.runId)
    nextPageToken = page.nextPageToken
    if (nextPageToken.length === 0) return ids
  }
}

async function deleteRun(context: ClientContext, threadId: string, runId: string): Promise<void> {
  const client = context.temporal()
  const { namespace } = client.options
  const workflowExecution = { workflowId: threadId, runId }
  try {
    await context.call(LIMITS.temporalCall, () =>
      client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution }),
    )
  } catch (error) {
    if (grpcStatusOf(error)?.code !== GRPC.notFound) throw error
  }
}
