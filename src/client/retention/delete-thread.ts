import { setTimeout as sleep } from 'node:timers/promises'
import { ThreadConflictError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { deleteThreadRows, markDeleting } from '../../store/threads/retention.js'
import { subtreeOf } from '../../store/threads/thread-tree.js'
import type { ClientContext } from '../client-context.js'
import { terminateThread } from '../terminate-thread.js'
import { deleteHistories } from './delete-histories.js'

export interface DeleteThread {
  /** Ends what is open of the tree first, and waits for it. @default false: an open tree is refused */
  readonly terminate?: boolean
}

export interface DeletedThread {
  /** Threads whose rows are gone. */
  readonly threads: number
  /** Those whose histories Temporal kept, and why: they end with its retention, and hold no content (T5). */
  readonly kept: readonly KeptHistory[]
}

export interface KeptHistory {
  readonly threadId: string
  readonly problem: string
}

/** Between two looks whether all of a tree is closed. */
const PAUSE = 250

/**
 * Deletes a thread and all below it: histories first, then rows, each thread before the one that started it. What was cut
 * off in its middle is finished by the next call; where there is nothing, nothing happens.
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
  // Somebody may have made it anew since.
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
  const until = Date.now() + LIMITS.deletedClose
  for (;;) {
    const open = await openOnes(context, threadId)
    if (open.length === 0) return
    if (!terminate)
      throw conflict(threadId, `${open.length} that are open: terminate it, or pass "terminate"`)
    if (Date.now() > until)
      throw conflict(threadId, `${open.length} that no worker has closed: start one, then delete it again`)
    // A cascade tells those whose parent is there; here are also those whose parent is not.
    for (const id of open) await terminateThread(context, { threadId: id, reason: 'deleted' })
    await sleep(PAUSE)
  }
}

/** The highest ones first: they end those below them. */
async function openOnes(context: ClientContext, threadId: string): Promise<readonly string[]> {
  const store = await context.store()
  const threads = await store.read((db) => subtreeOf(db, threadId))
  return threads.flatMap(({ id, closedAt }) => (closedAt === null ? [id] : [])).toReversed()
}

function conflict(threadId: string, problem: string): ThreadConflictError {
  return new ThreadConflictError(threadId, {
    problem: `Expected "${threadId}" and all threads below it to be closed, got ${problem}.`,
  })
}
