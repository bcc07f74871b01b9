import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { Side } from '../protocol/plan.js'
import type { JsonValue } from '../protocol/values.js'

/** One request as a scripted model shows it. */
export interface ScriptedRequest {
  /** The prompt, side and thread of the request; null if the caller gave none. */
  readonly prompt: string | null
  readonly side: Side | null
  readonly threadId: string | null
  readonly system: string
  /** Without the system message. */
  readonly messages: readonly ScriptedMessage[]
  readonly tools: readonly {
    readonly name: string
    readonly description: string | null
    readonly inputSchema: unknown
  }[]
  /** The AI SDK's call options. */
  readonly raw: LanguageModelV4CallOptions
}

/** One message of a request as a scripted model shows it. */
export interface ScriptedMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  /** All text parts, joined by line breaks; for tool messages the results' texts. */
  readonly text: string
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
  readonly toolResults?: readonly {
    readonly id: string
    readonly name: string
    readonly text: string
    readonly isError: boolean
  }[]
}

/** The origin that callers put under `providerOptions.everthread`, which real providers ignore. */
export interface RequestOrigin {
  readonly prompt: string
  readonly side: Side
  readonly threadId: string
}

/** Simplifies the AI SDK's call options. */
export function toScriptedRequest(raw: LanguageModelV4CallOptions): ScriptedRequest {
  const origin: Readonly<Record<string, JsonValue | undefined>> = raw.providerOptions?.['everthread'] ?? {}
  const { prompt, side, threadId } = origin
  return {
    prompt: typeof prompt === 'string' ? prompt : null,
    side: side === 'a' || side === 'b' ? side : null,
    threadId: typeof threadId === 'string' ? threadId : null,
    system: raw.prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n'),
    messages: raw.prompt.flatMap(toScriptedMessage),
    tools: (raw.tools ?? []).map((tool) => ({
      name: tool.name,
      description: tool.type === 'function' ? (tool.description ?? null) : null,
      inputSchema: tool.type === 'function' ? tool.inputSchema : null,
    })),
    raw,
  }
}

function toScriptedMessage(message: LanguageModelV4Message): readonly ScriptedMessage[] {
  if (message.role === 'system') return []
  if (message.role === 'tool') {
    const toolResults = message.content.flatMap((part) =>
      part.type === 'tool-result' ? [toResult(part)] : [],
    )
    return [{ role: 'tool', text: toolResults.map(({ text }) => text).join('\n'), toolResults }]
  }
  const text = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  if (message.role === 'user') return [{ role: 'user', text }]
  const toolCalls = message.content.flatMap((part) =>
    part.type === 'tool-call' ? [{ id: part.toolCallId, name: part.toolName, args: part.input }] : [],
  )
  return [toolCalls.length === 0 ? { role: 'assistant', text } : { role: 'assistant', text, toolCalls }]
}

type ScriptedResult = NonNullable<ScriptedMessage['toolResults']>[number]

function toResult({ toolCallId, toolName, output }: LanguageModelV4ToolResultPart): ScriptedResult {
  const value = 'value' in output ? output.value : (output.reason ?? '')
  return {
    id: toolCallId,
    name: toolName,
    text: typeof value === 'string' ? value : JSON.stringify(value),
    isError: output.type.startsWith('error') || output.type === 'execution-denied',
  }
}
