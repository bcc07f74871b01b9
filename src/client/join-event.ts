import type { ThreadEvent } from '../protocol/events.js'
import type { JsonObject } from '../protocol/json.js'
import { LIMITS } from '../protocol/limits.js'
import type { Message } from '../protocol/message.js'
import { utf8Length } from '../protocol/messages.js'
import type { StoredEvent } from '../store/events.js'
import { findMessage } from '../store/read-messages.js'
import type { Reader } from '../store/store.js'
import { findToolCall } from '../store/tool-calls.js'

/** Of the envelope; grows when a field gets another meaning. */
const SCHEMA_VERSION = 1

/** A stored fact as subscribers get it, with the text that it is about: the log itself holds ids and small facts. */
export async function joinEvent(db: Reader, threadId: string, event: StoredEvent): Promise<ThreadEvent> {
  const joined = {
    ...event.scope,
    sequence: event.sequence,
    eventId: `${threadId}:${event.sequence}`,
    type: event.type,
    timestamp: new Date(event.at / 1000).toISOString(),
    schemaVersion: SCHEMA_VERSION,
    threadId,
    payload: { ...event.payload, ...(await textOf(db, threadId, event)) },
  }
  // The wire boundary of the event log: what a newer version wrote is delivered as it is.
  return joined as unknown as ThreadEvent
}

export interface Delta {
  readonly threadId: string
  readonly messageId: string
  readonly kind: 'text' | 'reasoning'
  readonly attempt: number
  readonly offset: number
  readonly text: string
}

export function deltaEvent({ threadId, messageId, kind, attempt, offset, text }: Delta): ThreadEvent {
  return {
    type: kind === 'text' ? 'model.delta' : 'reasoning.delta',
    timestamp: new Date().toISOString(),
    schemaVersion: SCHEMA_VERSION,
    threadId,
    messageId,
    payload: { attempt, offset, text },
  }
}

async function textOf(db: Reader, threadId: string, { type, scope }: StoredEvent): Promise<object> {
  if (type === 'message.created' && scope.messageId !== undefined)
    return joinedMessage(await findMessage(db, threadId, scope.messageId))
  if (scope.toolCallId === undefined || (type !== 'tool.started' && type !== 'tool.result')) return {}
  const call = await findToolCall(db, threadId, scope.toolCallId)
  if (type === 'tool.started') return previewOf(call?.arguments ?? null)
  const result = call?.result_message_id ? await findMessage(db, threadId, call.result_message_id) : null
  return { ...previewOf(result?.content ?? null), attachments: result?.attachments ?? [] }
}

function previewOf(text: string | null): JsonObject {
  const preview = text === null ? null : cut(text, LIMITS.eventJoinBytes)
  return { preview, truncated: preview !== text }
}

function joinedMessage(message: Message | null): object {
  if (message === null) return { message, truncated: false, bytes: 0 }
  const bytes = utf8Length(JSON.stringify(message))
  if (bytes <= LIMITS.eventJoinBytes) return { message, truncated: false, bytes }
  // Half for the text, so that a cut message as a whole stays within the bound; a cut JSON text would be none.
  const shorter: Message = {
    ...message,
    content: message.content === null ? null : cut(message.content, LIMITS.eventJoinBytes / 2),
    reasoning_content: null,
    tool_calls: fits(message.tool_calls) ? message.tool_calls : null,
    metadata: fits(JSON.stringify(message.metadata)) ? message.metadata : null,
  }
  return { message: shorter, truncated: true, bytes }
}

function fits(text: string | null): boolean {
  return text === null || utf8Length(text) <= LIMITS.eventJoinBytes / 8
}

/** At most that many bytes of UTF-8, whole characters only. */
function cut(text: string, bytes: number): string {
  const encoded = Buffer.from(text)
  if (encoded.length <= bytes) return text
  let end = bytes
  while (((encoded[end] ?? 0) & 0b1100_0000) === 0b1000_0000) end -= 1
  return encoded.subarray(0, end).toString()
}
