import type { CallModelInput } from '../../protocol/activities.js'
import { findChild } from '../../store/children.js'
import { findMessage } from '../../store/read-messages.js'
import type { Reader } from '../../store/store.js'

/**
 * The message of a closed child's last report that its parent's workflow never heard of: the child was ended before it
 * could say so, or a Temporal reset took back what the parent knew (T7). Null if there is none.
 */
export async function untoldReport(
  db: Reader,
  { threadId, drain }: CallModelInput,
  reference: string,
): Promise<string | null> {
  const child = await findChild(db, threadId, reference)
  const id = child?.report?.messageId
  // It is in the queue, before the news of the close.
  if (child === null || id === undefined || drain.some((item) => item.id === id)) return null
  const row = await findMessage(db, threadId, id)
  if (row === null || row.subagent_id !== reference) return null
  if (row.position === null) return row.status === 'pending' ? id : null
  // One that stays may owe a later answer; of any other this was the only one.
  return child.resumable ? null : id
}
