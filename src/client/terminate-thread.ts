import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ThreadNotFoundError } from '../protocol/errors.js'
import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import { UPDATES } from '../protocol/messages.js'
import type { Respond } from '../protocol/messages.js'
import { closeRequests, deferredChildOf, listOpenRequests } from '../store/calls/requests.js'
import type { PendingRecord } from '../store/calls/requests.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { closeChild, findChild, updateChild } from '../store/threads/children.js'
import type { ChildKey } from '../store/threads/children.js'
import { closeThread } from '../store/threads/thread-closing.js'
import { lastRun } from '../store/threads/runs.js'
import { subtreeOf } from '../store/threads/thread-tree.js'
import { findThread, requestTermination } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { storeStopNews } from './client-context.js'
import type { ClientContext } from './client-context.js'
import { carryOut } from './once.js'
import { cancelWorkflow, updateWorkflow } from './thread-workflow.js'
import { nowMicros } from '../protocol/time.js'
import { RESPOND_PATIENCE, RESPOND_PAUSE } from './answers/respond.js'

interface Termination {
  readonly threadId: string
  readonly reason?: string | undefined
}

/**
 * T8: marks the row first, which refuses everything from then on, then cancels the workflow, which ends what is in flight
 * and closes softly. Repeating it does no harm. @throws ThreadNotFoundError, TemporalUnavailableError
 */
export async function terminateThread(context: ClientContext, termination: Termination): Promise<void> {
  const { threadId, reason = null } = termination
  await carryOut(context, {
    ...{ threadId, name: 'terminate', content: reason },
    store: async (tx) => {
      const requested = await requestTermination(tx, { threadId, reason, by: 'client', now: nowMicros() })
      if (requested === 'missing') throw new ThreadNotFoundError(threadId)
      // A repetition finishes what a process that died has left.
      return requested
    },
    announce: (requested, repeated) =>
      endTree(context, termination, repeated && requested === 'requested' ? 'already' : requested),
  })
}

/** Ends the thread whose row is marked, and those below it. */
async function endTree(
  context: ClientContext,
  { threadId, reason }: Termination,
  requested: Requested,
): Promise<void> {
  if ((await endMarked(context, threadId, requested)) === 'cancelled') return
  const store = await context.store()
  const tree = await store.read((db) => subtreeOf(db, threadId))
  // Also those below threads that closed before: the process that closed these may have died then. The highest ones first.
  const below = tree.filter(({ id, closedAt }) => closedAt === null && id !== threadId).toReversed()
  // A thread that is deleted in the meantime has ended: `missing` is a success here.
  for (const { id } of below) await endThread(context, { threadId: id, reason })
}

type Requested = Exclude<Awaited<ReturnType<typeof requestTermination>>, 'missing'>

/** `cancelled`: its workflow closes the thread and cancels its children. `closed`: the caller ends the children. */
async function endThread(
  context: ClientContext,
  { threadId, reason }: Termination,
): Promise<'cancelled' | 'closed' | 'missing'> {
  const store = await context.store()
  const requested = await store.write((tx) =>
    requestTermination(tx, { threadId, reason: reason ?? null, by: 'client', now: nowMicros() }),
  )
  return requested === 'missing' ? requested : endMarked(context, threadId, requested)
}

async function endMarked(
  context: ClientContext,
  threadId: string,
  requested: Requested,
): Promise<'cancelled' | 'closed'> {
  if (requested === 'closed') return requested
  const store = await context.store()
  if ((await cancelWorkflow(context, threadId)) === 'accepted') {
    if (requested === 'requested') await storeStopNews(context, { threadId, run: null })
    return 'cancelled'
  }
  // No workflow is left to close it: it was not started yet, or an operator ended it.
  const closed = await store.write((tx) => closeRow(tx, threadId, nowMicros()))
  if (closed !== null && closed.request !== null) await releaseDeferred(context, closed.request)
  return 'closed'
}

interface ClosedRow {
  /** The request on which its parent waited before starting it, closed now; null if there was none. */
  readonly request: PendingRecord | null
}

/** Closes a terminated thread whose workflow is gone, as its workflow would (T8). Null if it was closed before. */
export async function closeRow(tx: Writer, threadId: string, now: number): Promise<ClosedRow | null> {
  const thread = await findThread(tx, threadId)
  if (thread === null || thread.closed_at !== null) return null
  // Work of a worker that is still in flight cannot commit any more: its operation is ended here.
  await closeThread(tx, { threadId, outcome: 'terminated', reason: 'terminated', now })
  return { request: await endInRegistry(tx, thread, now) }
}

/**
 * Marks the child in the registry of its parent. The parent still starts a child that never ran, and its workflow reports the
 * end: the registry closes with that report (T7).
 */
async function endInRegistry(
  tx: Writer,
  { id: reference, parent_thread_id: parentThreadId }: ThreadRecord,
  now: number,
): Promise<PendingRecord | null> {
  if (parentThreadId === null) return null
  const key = { parentThreadId, reference }
  const status = 'terminated'
  if ((await lastRun(tx, reference)) !== null) {
    await closeChild(tx, { ...key, status, now })
    return null
  }
  const request = await closeRequestFor(tx, key, now)
  await updateChild(tx, key, { status })
  return request
}

/** Closes the request for the variables of a deferred child that is closed: it cannot be answered any more. */
async function closeRequestFor(
  tx: Writer,
  { parentThreadId: threadId, reference }: ChildKey,
  now: number,
): Promise<PendingRecord | null> {
  if ((await findChild(tx, threadId, reference))?.status !== 'deferred') return null
  const open = await listOpenRequests(tx, { threadId, limit: LIMITS.childrenInAll })
  const found = open.find((request) => deferredChildOf(request) === reference)
  if (found === undefined) return null
  await closeRequests(tx, { threadId, ids: [found.id] })
  const payload = { requestId: found.id, kind: 'variables', decision: 'closed', by: null } as const
  const resolved = fact('action.resolved', payload, { childId: reference })
  await appendEvents(tx, { threadId, events: [resolved], now })
  return found
}

/**
 * Ends the wait of a parent for the variables of a subagent that was terminated before it started: the parent starts its
 * workflow, which finds the thread closed and reports that (T7). A parent that does not answer here does the same once the
 * request expires.
 */
async function releaseDeferred(
  context: ClientContext,
  { thread_id: parentThreadId, id }: Pick<PendingRecord, 'thread_id' | 'id'>,
): Promise<void> {
  const until = Date.now() + RESPOND_PATIENCE
  const input: Respond = { id, names: [] }
  for (;;) {
    const patience = Math.max(1, until - Date.now())
    const update = { name: UPDATES.respond, id: `${UPDATES.respond}:${id}:${randomUUID()}`, input, patience }
    // The row of a request is visible a moment before the workflow learns of the request.
    if ((await updateWorkflow(context, parentThreadId, update)) !== 'unknown') return
    if (Date.now() + RESPOND_PAUSE >= until) return
    await sleep(RESPOND_PAUSE)
  }
}
