import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import type { Micros } from '../protocol/time.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { findChild, updateChild } from '../store/threads/children.js'
import { updateThread } from '../store/threads/threads.js'

interface PublishedStatus {
  /** The thread's id. If it is a child, this is also its reference. */
  readonly reference: string
  readonly text: string
  readonly now: Micros
}

/**
 * Publishes the status text of a thread: on its own row, with the event `thread.status`, and in its parent's
 * registry, with the event `subagent.status`. The registry entry of a child that is closed or has not started does
 * not change.
 */
export async function publishStatus(tx: Writer, { reference, text, now }: PublishedStatus): Promise<void> {
  const status = cutToFit(text)
  await updateThread(tx, reference, { status_text: status })
  await appendEvents(tx, { threadId: reference, events: [fact('thread.status', {})], now })
  const thread = await tx
    .selectFrom('threads')
    .select('parent_thread_id as parent')
    .where('id', '=', reference)
    .executeTakeFirst()
  if (thread?.parent == null) return
  const child = await findChild(tx, thread.parent, reference)
  if (child === null || child.closed_at !== null || child.status === 'deferred') return
  await updateChild(tx, { parentThreadId: thread.parent, reference }, { status_text: status })
  const payload = { reference, name: child.name }
  const event = fact('subagent.status', payload, { childId: reference })
  await appendEvents(tx, { threadId: thread.parent, events: [event], now })
}

function cutToFit(text: string): string {
  // The slice may end within a surrogate pair.
  return text.slice(0, LIMITS.statusText).replace(/\p{Surrogate}$/u, '')
}
