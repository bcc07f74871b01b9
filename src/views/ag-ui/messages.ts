/**
 * The transcript of a thread as AG-UI has it, and its words for them.
 *
 * Owns: which messages of AG-UI a row of the transcript is, and their order. Does not own: when they are said (`ag-ui.ts`), and which rows
 * there are (the store).
 * Invariants: the id of a message is that of its row; its reasoning has that id with `:reasoning`. The order is the one in which AG-UI's own
 * client puts what it hears, so that a client that heard everything and one that got the transcript at once have the same.
 */
import type { Message, ToolCallEntry } from '../../protocol/message.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'

/** A message in the conversation of AG-UI: of its fields those that we use. */
export interface AgUiMessage {
  readonly id: string
  readonly role: 'system' | 'user' | 'assistant' | 'tool' | 'reasoning'
  readonly content?: string
  readonly toolCalls?: readonly ToolCallEntry[]
  readonly toolCallId?: string
  /** `attachments`: files of the thread by their paths; `status`: `error` for the result of a call that failed. */
  readonly metadata?: JsonObject
}

/** The id of the reasoning of a message. */
export function reasoningIdOf(messageId: string): string {
  return `${messageId}:reasoning`
}

/** The messages of one row: its reasoning, its text, its calls. */
export function messagesOfRow(row: Message): readonly AgUiMessage[] {
  const { id, role, content, reasoning_content: reasoning, attachments } = row
  const metadata = metadataOf(attachments, row.tool_status)
  if (role === 'tool')
    return [{ id, role, content: content ?? '', toolCallId: row.tool_call_id ?? '', ...metadata }]
  const toolCalls = callsOf(row)
  const hasText = (content ?? '') !== '' || attachments.length > 0 || toolCalls.length === 0
  const own: AgUiMessage = { id, role, ...(hasText && { content: content ?? '' }), ...metadata }
  const thought: readonly AgUiMessage[] =
    (reasoning ?? '') === '' ? [] : [{ id: reasoningIdOf(id), role: 'reasoning', content: reasoning ?? '' }]
  if (toolCalls.length === 0) return [...thought, own]
  if (role === 'assistant') return [...thought, { ...own, toolCalls }]
  // There calls belong to assistants only: those of a side that speaks as the user are messages of their own.
  const calls = toolCalls.map((call) => ({ id: call.id, role: 'assistant', toolCalls: [call] }) as const)
  return [...thought, ...(hasText ? [own] : []), ...calls]
}

/** What is known of a result or a text beside its words. */
export function metadataOf(
  attachments: Message['attachments'],
  status: Message['tool_status'],
): { readonly metadata?: JsonObject } {
  const metadata = {
    ...(attachments.length > 0 && { attachments: attachments as unknown as JsonValue }),
    ...(status === 'error' && { status }),
  }
  return Object.keys(metadata).length === 0 ? {} : { metadata }
}

function callsOf({ tool_calls: calls }: Message): readonly ToolCallEntry[] {
  // The store's boundary: written by it.
  return calls === null ? [] : (JSON.parse(calls) as readonly ToolCallEntry[])
}

/** The conversation that these rows are, in the order of a client that heard it. */
export function messagesOfRows(rows: readonly Message[]): readonly AgUiMessage[] {
  const messages: AgUiMessage[] = []
  for (const message of rows.flatMap(messagesOfRow)) messages.splice(placeOf(message, messages), 0, message)
  return messages
}

/** A result stands behind its call, and behind the results that follow it there. */
function placeOf({ role, toolCallId }: AgUiMessage, messages: readonly AgUiMessage[]): number {
  const owner =
    role === 'tool' ? messages.findIndex((one) => one.toolCalls?.some(({ id }) => id === toolCallId)) : -1
  if (owner === -1) return messages.length
  let place = owner + 1
  while (messages[place]?.role === 'tool') place += 1
  return place
}

/** The calls of a conversation that have no result. */
export function openCallsOf(messages: readonly AgUiMessage[]): readonly string[] {
  const answered = new Set(messages.map(({ toolCallId }) => toolCallId))
  return messages
    .flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id))
    .filter((id) => !answered.has(id))
}
