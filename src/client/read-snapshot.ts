import type { ControlSnapshot, QueuedItem } from '../protocol/snapshot.js'
import { listChildren } from '../store/children.js'
import { lastRun } from '../store/runs.js'
import type { Reader } from '../store/store.js'
import { deliveredAmong, queuedMessages } from '../store/queued-messages.js'
import type { ThreadRecord } from '../store/threads.js'
import type { ClientContext } from './client-context.js'
import { knownThread } from './open-thread.js'
import { querySnapshot } from './query-snapshot.js'
import { liveSnapshot, recordedSnapshot } from './thread-snapshot.js'
import type { SnapshotRows, ThreadSnapshot } from './thread-snapshot.js'

const PREVIEW_LENGTH = 100

/** A snapshot, and whether the workflow itself was asked in vain. */
export interface Look {
  readonly snapshot: ThreadSnapshot
  readonly silent: boolean
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
  if (thread.closed_at !== null)
    return { snapshot: recordedSnapshot(await store.read((db) => rowsOf(db, threadId))), silent: false }
  const answer = await querySnapshot(context, threadId, patience)
  return store.read(async (db) => {
    const rows = await rowsOf(db, threadId, answer.kind === 'answered' ? answer.snapshot : undefined)
    if (answer.kind === 'answered') return { snapshot: liveSnapshot(answer.snapshot, rows), silent: false }
    if (answer.kind === 'silent') return { snapshot: recordedSnapshot(rows), silent: true }
    // Without any run it was never started, which the next message mends.
    const lost = rows.thread.closed_at === null && (await lastRun(db, threadId)) !== null
    return { snapshot: recordedSnapshot(rows, lost ? 'lost' : undefined), silent: false }
  })
}

async function rowsOf(db: Reader, threadId: string, control?: ControlSnapshot): Promise<SnapshotRows> {
  const thread: ThreadRecord = await knownThread(db, threadId)
  const ids = control?.queue.map(({ id }) => id)
  const queued = ids?.length === 0 ? [] : await queuedMessages(db, threadId)
  return {
    thread,
    delivered: await deliveredAmong(db, threadId, ids ?? []),
    children: await listChildren(db, threadId),
    previews: new Map(queued.map(({ id, content }) => [id, (content ?? '').slice(0, PREVIEW_LENGTH)])),
    waiting: queued.map((message): QueuedItem => ({
      id: message.id,
      kind: message.subagent_id === null ? 'message' : 'report',
      queuedAt: message.created_at,
    })),
  }
}
