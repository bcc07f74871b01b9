import type { ThreadEvent } from '../protocol/events.js'
import type { EventScope } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import type { Message } from '../protocol/message.js'
import { utf8Length } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'
import { findRequest } from '../store/calls/requests.js'
import { findToolCall } from '../store/calls/tool-calls.js'
import type { StoredEvent } from '../store/event-rows.js'
import type { NewDelta } from '../store/messages/deltas.js'
import { findMessage } from '../store/messages/transcript.js'
import type { Reader } from '../store/store.js'
import { findChild } from '../store/threads/children.js'
import { queuedPreviews } from './queue-preview.js'

/** Of the envelope; grows when a field gets another meaning. */
const SCHEMA_VERSION = 1

/** A fact as all subscribers get it, but for its cursor, which is each one's own. What a newer version wrote is one too. */
export interface JoinedFact extends EventScope {
  readonly sequence: number
  readonly eventId: string
  readonly type: string
  readonly timestamp: string
  readonly schemaVersion: number
  readonly threadId: string
  readonly payload: object
}

/** A stored fact as subscribers get it, with the text that it is about: the log itself holds ids and small facts. */
export async function joinEvent(db: Reader, threadId: string, event: StoredEvent): Promise<JoinedFact> {
  return {
    ...event.scope,
    sequence: event.sequence,
    eventId: `${threadId}:${event.sequence}`,
    type: event.type,
    timestamp: new Date(event.at / 1000).toISOString(),
    schemaVersion: SCHEMA_VERSION,
    threadId,
    payload: { ...event.payload, ...(await textOf(db, threadId, event)) },
  }
}

export function deltaEvent(
  { threadId, messageId, kind, attempt, offset, text }: NewDelta,
  cursor: string,
): ThreadEvent {
  return {
    cursor,
    type: kind === 'text' ? 'model.delta' : 'reasoning.delta',
    timestamp: new Date().toISOString(),
    schemaVersion: SCHEMA_VERSION,
    threadId,
    messageId,
    payload: { attempt, offset, text },
  }
}

type Joined = Promise<object>

/** What belongs to a fact of a type; nothing to one that has it all, or that this version does not know. */
function textOf(db: Reader, threadId: string, event: StoredEvent): Joined | object {
  const { type, scope, payload } = event
  if (type === 'message.created' || type === 'message.updated')
    return scope.messageId === undefined ? {} : messageText(db, threadId, scope.messageId)
  if (type === 'thread.status') return statusText(db, threadId)
  if (type === 'queue.changed') return queueText(db, threadId)
  if (type === 'action.required' || type === 'action.resolved')
    return typeof payload['requestId'] === 'string'
      ? requestText(db, event, threadId, payload['requestId'])
      : {}
  if (type.startsWith('subagent.')) return childText(db, threadId, event)
  if (scope.toolCallId === undefined) return {}
  if (type === 'tool.started') return argumentsText(db, threadId, scope.toolCallId)
  return type === 'tool.result' ? resultText(db, threadId, scope.toolCallId) : {}
}

async function messageText(db: Reader, threadId: string, messageId: string): Joined {
  return joinedMessage(await findMessage(db, threadId, messageId))
}

async function statusText(db: Reader, threadId: string): Joined {
  const thread = await db
    .selectFrom('threads')
    .select('status_text as status')
    .where('id', '=', threadId)
    .executeTakeFirst()
  return { status: thread?.status ?? null }
}

async function queueText(db: Reader, threadId: string): Joined {
  const queued = await queuedPreviews(db, threadId, LIMITS.eventQueueItems)
  return { queue: queued.map(({ item, preview }) => ({ ...item, preview })) }
}

/** What an instance is called, and what it says of itself: both are its parent's content. */
async function childText(db: Reader, threadId: string, { type, scope }: StoredEvent): Joined {
  const child = scope.childId === undefined ? null : await findChild(db, threadId, scope.childId)
  if (child === null) return {}
  return {
    ...(child.thread_name !== null && { threadName: child.thread_name }),
    ...(type === 'subagent.status' && { status: child.status_text ?? child.status }),
  }
}

async function argumentsText(db: Reader, threadId: string, callId: string | null): Joined {
  const call = callId === null ? null : await findToolCall(db, threadId, callId)
  return previewOf(call?.arguments ?? null)
}

async function resultText(db: Reader, threadId: string, callId: string): Joined {
  const call = await findToolCall(db, threadId, callId)
  const result = call?.result_message_id ? await findMessage(db, threadId, call.result_message_id) : null
  return { ...previewOf(result?.content ?? null), attachments: result?.attachments ?? [] }
}

async function requestText(db: Reader, { type }: StoredEvent, threadId: string, requestId: string): Joined {
  const request = await findRequest(db, threadId, requestId)
  if (type === 'action.resolved') return { reason: request?.reason ?? null }
  const { agent, required, missing } = request?.detail ?? {}
  return {
    toolName: request?.tool_name ?? null,
    ...(await argumentsText(db, threadId, request?.call_id ?? null)),
    ...(request?.kind === 'variables' && { agent, required, missing }),
  }
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
