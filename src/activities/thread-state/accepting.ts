import { LIMITS } from '../../protocol/limits.js'
import { countUndelivered } from '../../store/messages/message-writes.js'
import type { Store } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'

interface Queueing {
  readonly threadId: string
  /** What the call has queued so far. */
  readonly added: number
}

/** Refused here, where the tool can still say so; the commit looks again. @throws a sentence */
export async function assertQueueTakes(store: Store, { threadId, added }: Queueing): Promise<void> {
  const [thread, waiting] = await store.read((db) =>
    Promise.all([findThread(db, threadId), countUndelivered(db, threadId)]),
  )
  if (thread === null || thread.terminate_requested_at !== null || thread.closed_at !== null)
    throw new Error(`Expected a thread that takes messages, got ${threadId}, which was terminated.`)
  if (added >= LIMITS.queuedByCall)
    throw new Error(`Expected at most ${LIMITS.queuedByCall} messages of one call, got another one.`)
  if (waiting + added >= LIMITS.queuedItems)
    throw new Error(
      `Expected at most ${LIMITS.queuedItems} queued messages, got another one: wait for an answer.`,
    )
}
