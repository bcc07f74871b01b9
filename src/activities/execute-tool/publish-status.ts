import { LIMITS } from '../../protocol/limits.js'
import { findChild, updateChild } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import type { Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import type { HeldCall } from './begin-call.js'

/** Shows a subagent's own words in its parent's registry; a thread without a parent has nobody to show them to. */
export async function publishStatus(
  tx: Writer,
  { input: { threadId: reference }, now }: HeldCall,
  text: string | null,
): Promise<void> {
  if (text === null) return
  const parentThreadId = (await findThread(tx, reference))?.parent_thread_id ?? null
  if (parentThreadId === null) return
  const child = await findChild(tx, parentThreadId, reference)
  if (child === null) return
  await updateChild(tx, { parentThreadId, reference }, { status: text.slice(0, LIMITS.statusText) })
  const payload = { reference, name: child.name }
  const event = { type: 'subagent.status', scope: { childId: reference }, payload }
  await appendEvents(tx, { threadId: parentThreadId, events: [event], now })
}
