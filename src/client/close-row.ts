import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import { closeRequests, deferredChildOf, openRequests } from '../store/calls/requests.js'
import type { PendingRecord } from '../store/calls/requests.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { closeChild, findChild, updateChild } from '../store/threads/children.js'
import type { ChildKey } from '../store/threads/children.js'
import { closeThread } from '../store/threads/close-thread.js'
import { lastRun } from '../store/threads/runs.js'
import { findThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'

interface ClosedRow {
  /** What its parent asked for before it would start it, closed now; null if there was nothing. */
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
 * A child that never ran has yet to be started by its parent, which hears of its end by that very workflow: the registry
 * closes with its report (T7).
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

/** Nobody can answer any more what a child waits for that is closed. */
async function closeRequestFor(
  tx: Writer,
  { parentThreadId: threadId, reference }: ChildKey,
  now: number,
): Promise<PendingRecord | null> {
  if ((await findChild(tx, threadId, reference))?.status !== 'deferred') return null
  const open = await openRequests(tx, { threadId, limit: LIMITS.childrenInAll })
  const found = open.find((request) => deferredChildOf(request) === reference)
  if (found === undefined) return null
  await closeRequests(tx, { threadId, ids: [found.id] })
  const payload = { requestId: found.id, kind: 'variables', decision: 'closed', by: null } as const
  const resolved = fact('action.resolved', payload, { childId: reference })
  await appendEvents(tx, { threadId, events: [resolved], now })
  return found
}
