import { ThreadConflictError } from '../protocol/errors.js'
import { SIGNALS } from '../protocol/messages.js'
import type { ReopenedThread, ThreadLimits } from '../protocol/messages.js'
import { waitingItems } from '../store/calls/request-lists.js'
import type { WaitingItem } from '../store/calls/request-lists.js'
import { endLostRun, readReopened } from '../store/reopen/reopened-thread.js'
import { isOpen, requireOpenThread } from '../store/threads/open-threads.js'
import { lastRun } from '../store/threads/runs.js'
import { findThread, updateThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { ClientContext } from './client-context.js'
import { describeWorkflow, signalThread, startWorkflow } from './thread-workflow.js'
import type { ThreadSignal } from './thread-workflow.js'
import { nowMicros } from '../protocol/time.js'

/** How often reopening starts over because the thread changed in between: by a stale attempt, or by another reopening. */
const TRIALS = 5

export interface ReopenThread {
  /** The limits of the new start: the store does not keep those of the first one. @default none */
  readonly limits?: ThreadLimits
}

/**
 * Starts the workflow of a lost thread again from its rows, and signals the items that wait. Repeated or concurrent calls
 * reopen it once. @throws ThreadNotFoundError, ThreadTerminatedError, TemporalUnavailableError;
 * ThreadConflictError when the thread is not lost, or its parent is
 */
export async function reopenThread(
  context: ClientContext,
  threadId: string,
  { limits }: ReopenThread = {},
): Promise<void> {
  for (let trial = 0; trial < TRIALS; trial += 1) if (await tryReopen(context, threadId, limits)) return
  throw conflictError(threadId, 'changes all the time: try again when its workers are idle')
}

/** False: the thread changed in between. */
async function tryReopen(context: ClientContext, threadId: string, limits?: ThreadLimits): Promise<boolean> {
  const store = await context.store()
  const thread = await store.read((db) => requireOpenThread(db, threadId))
  const workflow = await describeWorkflow(context, threadId)
  if (workflow.state === 'open') {
    if (!workflow.reopened) throw conflictError(threadId, 'runs in Temporal: there is nothing to reopen')
    await signalWaitingItems(context, thread, parkedTimeOf(thread))
    return true
  }
  if (workflow.status === 'not_found') await checkStarted(context, thread)
  await checkParent(context, thread)
  const state = await store.write(async (tx) => {
    const { last_sequence: sequence } = thread
    const now = nowMicros()
    const cut = await endLostRun(tx, { threadId, sequence, now })
    if (cut === 'busy') return null
    const row = await requireOpenThread(tx, threadId)
    const state = await readReopened(tx, row, { cut: cut === 'cut', now })
    const { runs: run, agent, activated, side } = state
    const settled = { run, agent, activated, ...(side !== undefined && { side }) }
    const status = state.stopped === true ? 'stopped' : statusOf(state)
    await updateThread(tx, threadId, {
      ...(state.stopped !== true && { status }),
      session_state: status === 'running' ? 'active' : 'idle',
      settled,
    })
    return { row, reopened: state }
  })
  if (state === null) return false
  // Of several callers that start it at once one wins, which is a success for all.
  await startWorkflow(context, state.row, { reopened: state.reopened, limits })
  await signalWaitingItems(
    context,
    state.row,
    state.reopened.stopped === true ? parkedTimeOf(state.row) : null,
  )
  return true
}

function statusOf({ side, request }: ReopenedThread): string {
  if (side !== undefined) return 'running'
  return request === undefined ? 'idle' : 'blocked'
}

/** Refuses a child that was never started: only its parent starts it, which may wait for variables first. */
async function checkStarted(
  context: ClientContext,
  { id, parent_thread_id: parentId }: ThreadRecord,
): Promise<void> {
  if (parentId === null) return
  const store = await context.store()
  if ((await store.read((db) => lastRun(db, id))) !== null) return
  throw conflictError(id, `was never started: its parent "${parentId}" starts it`)
}

/**
 * Refuses a child whose parent is not open in Temporal: the child would find it gone and end, so the parent is reopened
 * first.
 */
async function checkParent(
  context: ClientContext,
  { id, parent_thread_id: parentId }: ThreadRecord,
): Promise<void> {
  if (parentId === null) return
  const store = await context.store()
  const parent = await store.read((db) => findThread(db, parentId))
  if (parent === null || !isOpen(parent))
    throw conflictError(id, `is a child of "${parentId}", which is closed: terminate it`)
  if ((await describeWorkflow(context, parentId)).state !== 'open')
    throw conflictError(id, `is a child of "${parentId}", which is lost too: reopen that one first`)
}

function conflictError(threadId: string, problem: string): ThreadConflictError {
  return new ThreadConflictError(threadId, {
    problem: `Expected a thread that is closed in Temporal and open in the store, got "${threadId}", which ${problem}.`,
  })
}

/**
 * T3: signals again, in order, the items that have no place in the transcript; an item that is signalled twice stays
 * one item.
 */
export async function signalWaitingItems(
  context: ClientContext,
  thread: ThreadRecord,
  parkedAt: number | null = null,
): Promise<void> {
  const store = await context.store()
  for (const item of await store.read((db) => waitingItems(db, thread)))
    await signalThread(context, thread.id, signalOf(item, parkedAt))
}

/** When a thread was stopped or blocked, in microseconds; null if it is neither. */
export function parkedTimeOf({ status, snapshot_at: at }: ThreadRecord): number | null {
  return status === 'stopped' || status === 'blocked' ? (at ?? 0) : null
}

/** The signal of a waiting item. An item that was accepted before the thread was parked does not make the thread go on. */
export function signalOf(item: WaitingItem, parkedAt: number | null): ThreadSignal {
  if (item.kind === 'tool') return { name: SIGNALS.queueTool, input: item.tool }
  const isParked = parkedAt !== null && item.createdAt <= parkedAt
  const message = isParked ? { from: 'tool' as const, ...item.message } : item.message
  return { name: SIGNALS.queueMessage, input: message }
}
