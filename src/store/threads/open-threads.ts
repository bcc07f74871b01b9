/**
 * Which threads still take work. Their rows alone decide, even after Temporal has deleted the history (T8).
 * Does not own: what closing a thread means (`thread-closing.ts`), and the state of a session (`sessions.ts`).
 */
import { ThreadConflictError, ThreadNotFoundError, ThreadTerminatedError } from '../../protocol/errors.js'
import type { Reader } from '../store.js'
import { findThread } from './threads.js'
import type { ThreadRecord } from './threads.js'

/** It is not closed, and nobody has asked for its end. */
export function isOpen(thread: Pick<ThreadRecord, 'closed_at' | 'terminate_requested_at'>): boolean {
  return thread.closed_at === null && thread.terminate_requested_at === null
}

/**
 * Reads the row of a thread that still accepts work.
 * @throws ThreadNotFoundError, ThreadTerminatedError; ThreadConflictError for a thread of an archived session
 */
export async function requireOpenThread(db: Reader, threadId: string): Promise<ThreadRecord> {
  const thread = await findThread(db, threadId)
  if (thread === null) throw new ThreadNotFoundError(threadId)
  if (!isOpen(thread))
    throw new ThreadTerminatedError(threadId, thread.closed_at === null ? 'terminated' : thread.status)
  await requireNotArchived(db, thread)
  return thread
}

/** A thread of an archived session takes nothing more. @throws ThreadConflictError */
export async function requireNotArchived(
  db: Reader,
  { id, root_thread_id: root, archived_at: archivedAt }: ThreadRecord,
): Promise<void> {
  const isOfArchived = root === id ? archivedAt !== null : await isArchived(db, root)
  if (!isOfArchived) return
  const problem = 'Expected a thread of a session that is not archived, got one that is: unarchive it first.'
  throw new ThreadConflictError(id, { problem })
}

/** Whether the session of a thread is archived. */
export async function isArchived(db: Reader, threadId: string): Promise<boolean> {
  const found = await db
    .selectFrom('threads as thread')
    .innerJoin('threads as root', 'root.id', 'thread.root_thread_id')
    .select('root.archived_at')
    .where('thread.id', '=', threadId)
    .executeTakeFirst()
  return found?.archived_at != null
}
