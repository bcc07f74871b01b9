import type { Insertable, Selectable } from 'kysely'

import type {
  AttachmentRef,
  Message,
  MessageRole,
  MessageStatus,
  ProviderPart,
  ToolCallEntry,
} from '../../protocol/message.js'
import type { QueuedDelivery } from '../../protocol/messages.js'
import type { Side } from '../../protocol/plan.js'
import { activeTraceparent } from '../../telemetry/spans.js'
import type { Schema } from '../schema.js'
import type { Micros } from '../../protocol/time.js'

export type MessageSender =
  | 'client'
  | 'cli'
  | 'parent'
  | 'child'
  | 'tool'
  | 'hook'
  | 'effect'
  | 'model'
  | 'runtime'

/** A message to store; fields that are left out are null, false, empty or 0. */
export interface NewMessage {
  readonly id: string
  readonly threadId: string
  readonly role: MessageRole
  readonly content: string | null
  readonly createdAt: Micros
  readonly sentBy: MessageSender
  readonly name?: string | null
  readonly toolCalls?: readonly ToolCallEntry[] | null
  readonly toolCallId?: string | null
  readonly parentId?: string | null
  readonly depth?: number
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown> | null
  /** @default 'completed' */
  readonly status?: MessageStatus
  readonly toolStatus?: 'success' | 'error' | null
  readonly attachments?: readonly AttachmentRef[]
  readonly reasoningContent?: string | null
  readonly finishReason?: string | null
  /** JSON, see `Schema['messages']`. */
  readonly answerParts?: string | null
  readonly prompt?: string | null
  readonly subagentId?: string | null
  readonly side?: Side | null
  readonly run?: number | null
  readonly step?: number | null
  readonly deliver?: QueuedDelivery | undefined
}

export function messageToRow(
  message: NewMessage,
): Omit<Insertable<Schema['messages']>, 'position' | 'digest'> {
  return {
    id: message.id,
    thread_id: message.threadId,
    role: message.role,
    content: message.content,
    name: message.name ?? null,
    tool_calls: message.toolCalls ? JSON.stringify(message.toolCalls) : null,
    tool_call_id: message.toolCallId ?? null,
    created_at: message.createdAt,
    parent_id: message.parentId ?? null,
    depth: message.depth ?? 0,
    silent: message.silent ? 1 : 0,
    metadata: message.metadata ? JSON.stringify(message.metadata) : null,
    status: message.status ?? 'completed',
    tool_status: message.toolStatus ?? null,
    attachments: JSON.stringify(message.attachments ?? []),
    reasoning_content: message.reasoningContent ?? null,
    finish_reason: message.finishReason ?? null,
    answer_parts: message.answerParts ?? null,
    prompt: message.prompt ?? null,
    subagent_id: message.subagentId ?? null,
    side: message.side ?? null,
    sent_by: message.sentBy,
    run: message.run ?? null,
    step: message.step ?? null,
    deliver: message.deliver ?? null,
    // The trace of the writer: a step belongs to the trace of the message that it drains.
    traceparent: activeTraceparent(),
  }
}

export function messageFromRow(row: Selectable<Schema['messages']>): Message {
  return {
    id: row.id,
    role: row.role as MessageRole,
    content: row.content,
    name: row.name,
    tool_calls: row.tool_calls,
    tool_call_id: row.tool_call_id,
    created_at: row.created_at,
    parent_id: row.parent_id,
    depth: row.depth,
    silent: row.silent !== 0,
    metadata: row.metadata === null ? null : (JSON.parse(row.metadata) as Record<string, unknown>),
    status: row.status as MessageStatus,
    tool_status: row.tool_status as Message['tool_status'],
    attachments: row.attachments === '[]' ? [] : (JSON.parse(row.attachments) as AttachmentRef[]),
    reasoning_content: row.reasoning_content,
    finish_reason: row.finish_reason,
    ...providerPartsOf(row.answer_parts),
    prompt: row.prompt,
    subagent_id: row.subagent_id,
    position: row.position,
  }
}

/** Written with the answer: the store's boundary. Most answers have none, and are not parsed. */
function providerPartsOf(details: string | null | undefined): Pick<Message, 'provider_parts'> {
  if (details?.includes('"kind":"provider"') !== true) return {}
  const { parts } = JSON.parse(details) as { readonly parts: readonly { readonly part?: ProviderPart }[] }
  return { provider_parts: parts.flatMap(({ part }) => part ?? []) }
}

/** The message as it will be stored, without a position. */
export function messageOfDraft(draft: NewMessage): Message {
  return messageFromRow({ ...messageToRow(draft), position: null, digest: '' } as Selectable<
    Schema['messages']
  >)
}
