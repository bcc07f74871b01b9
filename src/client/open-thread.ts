import { ThreadNotFoundError, ThreadTerminatedError } from '../protocol/errors.js'
import type { Reader } from '../store/store.js'
import { findThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'

/** The thread's row. @throws ThreadNotFoundError */
export async function knownThread(db: Reader, threadId: string): Promise<ThreadRecord> {
  const thread = await findThread(db, threadId)
  if (thread === null) throw new ThreadNotFoundError(threadId)
  return thread
}

/**
 * The row of a thread that still accepts work. The row alone decides, also after Temporal forgot the workflow (T8).
 * @throws ThreadNotFoundError, ThreadTerminatedError
 */
export async function openThread(db: Reader, threadId: string): Promise<ThreadRecord> {
  const thread = await knownThread(db, threadId)
  if (!isOpen(thread)) throw new ThreadTerminatedError(threadId, endOf(thread))
  return thread
}

export function isOpen(thread: ThreadRecord): boolean {
  return thread.closed_at === null && thread.terminate_requested_at === null
}

function endOf(thread: ThreadRecord): string {
  return thread.closed_at === null ? 'terminated' : thread.status
}
