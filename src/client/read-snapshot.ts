import { LIMITS } from '../protocol/limits.js'
import type { ControlSnapshot, ThreadStatus } from '../protocol/status.js'
import { listRequests } from '../store/calls/request-lists.js'
import { deliveredAmong } from '../store/messages/queue.js'
import type { Reader } from '../store/store.js'
import { allRegistered } from '../store/threads/child-registry.js'
import { scheduledEffects } from '../store/threads/effects.js'
import { lastRun } from '../store/threads/runs.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { ClientContext } from './client-context.js'
import { isOpen, knownThread } from './open-thread.js'
import { pendingRequest } from './pending-request.js'
import { querySnapshot } from './query-snapshot.js'
import { previewOfCall, queuedPreviews } from './queue-preview.js'
import { liveSnapshot, recordedSnapshot } from './thread-snapshot.js'
import type { SnapshotRows, ThreadSnapshot } from './thread-snapshot.js'

/** More than a thread can have: one call waits at a time. */
const REQUESTS = 100

/** A snapshot, and whether the workflow itself was asked in vain. */
export interface Look {
  readonly snapshot: ThreadSnapshot
  readonly silent: boolean
  /** Subagents that have not answered a call of it yet, if it says so itself. */
  readonly owed: readonly string[]
}

/**
 * What the workflow says, else what the store has recorded. A thread that is closed in Temporal while its row is open
 * is lost. @throws ThreadNotFoundError
 */
export async function readSnapshot(
  context: ClientContext,
  threadId: string,
  patience?: number,
): Promise<Look> {
  const store = await context.store()
  const thread = await store.read((db) => knownThread(db, threadId))
  if (thread.closed_at !== null) return recorded(await store.read((db) => rowsOf(db, threadId)))
  const answer = await querySnapshot(context, threadId, patience)
  return store.read(async (db) => {
    const rows = await rowsOf(db, threadId, answer.kind === 'answered' ? answer.snapshot : undefined)
    if (answer.kind === 'answered') return lookOf(answer.snapshot, rows)
    if (answer.kind === 'silent') return { ...recorded(rows), silent: true }
    // Without any run it was never started, which the next message mends.
    const lost = rows.thread.closed_at === null && (await lastRun(db, threadId)) !== null
    return recorded(rows, lost ? 'lost' : undefined)
  })
}

function recorded(rows: SnapshotRows, status?: ThreadStatus): Look {
  return { snapshot: recordedSnapshot(rows, status), silent: false, owed: [] }
}

function lookOf(control: ControlSnapshot, rows: SnapshotRows): Look {
  const owed = control.children.filter((child) => child.owed).map(({ reference }) => reference)
  return { snapshot: liveSnapshot(control, rows), silent: false, owed }
}

async function rowsOf(db: Reader, threadId: string, control?: ControlSnapshot): Promise<SnapshotRows> {
  const thread: ThreadRecord = await knownThread(db, threadId)
  const ids = control?.queue.map(({ id }) => id)
  const queued = ids?.length === 0 ? [] : await queuedPreviews(db, threadId, LIMITS.queuedItems)
  const { requests } = await listRequests(db, { filter: { threadId }, limit: REQUESTS })
  // Nobody performs them any more.
  const effects = isOpen(thread) ? await scheduledEffects(db, threadId) : []
  const due = effects.map(({ id, name, args }) => [id, previewOfCall(name, JSON.stringify(args))] as const)
  return {
    thread,
    delivered: await deliveredAmong(db, threadId, ids ?? []),
    children: await allRegistered(db, threadId),
    previews: new Map([...queued.map(({ item, preview }) => [item.id, preview] as const), ...due]),
    waiting: queued.map(({ item }) => item),
    requests: requests.map(pendingRequest),
    effects,
  }
}
