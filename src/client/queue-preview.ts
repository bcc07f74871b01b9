import type { QueuedItem } from '../protocol/status.js'
import { queuedMessages } from '../store/messages/queue.js'
import type { QueuedMessage } from '../store/messages/queue.js'
import type { Reader } from '../store/store.js'

const PREVIEW_LENGTH = 100

/** Something that is accepted and waits, as the store has it. */
export interface QueuedPreview {
  readonly item: QueuedItem
  readonly preview: string
}

/** The first items that wait, in the order in which their rows were written; a workflow that answers knows that of delivery. */
export async function queuedPreviews(
  db: Reader,
  threadId: string,
  limit: number,
): Promise<readonly QueuedPreview[]> {
  const queued = await queuedMessages(db, { threadId, length: PREVIEW_LENGTH, limit })
  return queued.map(queuedPreview)
}

/** A queued tool is known by its call: its row only holds that. */
function queuedPreview({ id, text, call, child, createdAt: queuedAt }: QueuedMessage): QueuedPreview {
  if (call === null)
    return { item: { id, kind: child === null ? 'message' : 'report', queuedAt }, preview: text }
  const { name, arguments: args } = call.function
  return { item: { id: call.id, kind: 'tool', queuedAt }, preview: previewOfCall(name, args) }
}

/** Of a tool or an effect with its arguments as JSON. */
export function previewOfCall(name: string, args: string): string {
  return `${name} ${args}`.slice(0, PREVIEW_LENGTH)
}
