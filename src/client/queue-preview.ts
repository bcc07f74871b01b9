import type { Message, ToolCallEntry } from '../protocol/message.js'
import type { QueuedItem } from '../protocol/snapshot.js'

const PREVIEW_LENGTH = 100

/** Something that is accepted and waits, as the store has it. */
export interface QueuedPreview {
  readonly item: QueuedItem
  readonly preview: string
}

/** A queued tool is known by its call: its row only holds that. */
export function queuedPreview(message: Message): QueuedPreview {
  const { id, content, subagent_id: child, created_at: queuedAt, tool_calls: calls } = message
  const [call] = calls === null ? [] : (JSON.parse(calls) as readonly ToolCallEntry[])
  if (call !== undefined) {
    const { name, arguments: args } = call.function
    return { item: { id: call.id, kind: 'tool', queuedAt }, preview: previewOfCall(name, args) }
  }
  const kind = child === null ? 'message' : 'report'
  return { item: { id, kind, queuedAt }, preview: (content ?? '').slice(0, PREVIEW_LENGTH) }
}

/** Of a tool or an effect with its arguments as JSON. */
export function previewOfCall(name: string, args: string): string {
  return `${name} ${args}`.slice(0, PREVIEW_LENGTH)
}
