import { LIMITS } from '../protocol/limits.js'
import { findChild, updateChild } from '../store/children.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { findThread } from '../store/threads.js'

interface PublishedStatus {
  /** The child's thread id. */
  readonly reference: string
  readonly text: string
  /** Microseconds. */
  readonly now: number
}

/**
 * Shows a subagent's own words in its parent's registry; a thread without a parent has nobody to show them to. One that is
 * closed, or has not started, stays known as such.
 */
export async function publishStatus(tx: Writer, { reference, text, now }: PublishedStatus): Promise<void> {
  const parentThreadId = (await findThread(tx, reference))?.parent_thread_id ?? null
  const child = parentThreadId === null ? null : await findChild(tx, parentThreadId, reference)
  if (parentThreadId === null || child === null) return
  if (child.closed_at !== null || child.status === 'deferred') return
  await updateChild(tx, { parentThreadId, reference }, { status_text: fitting(text) })
  const payload = { reference, name: child.name }
  const event = { type: 'subagent.status', scope: { childId: reference }, payload }
  await appendEvents(tx, { threadId: parentThreadId, events: [event], now })
}

function fitting(text: string): string {
  // The cut may leave half a character.
  return text.slice(0, LIMITS.statusText).replace(/\p{Surrogate}$/u, '')
}
