import { APICallError } from '@ai-sdk/provider'

import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'
import type { ModelUsage } from './model-answer.js'

/** What a scripted model answers. With `error` it fails as a provider would that answers with this HTTP status. */
export interface ScriptedAnswer {
  readonly text?: string
  readonly reasoning?: string
  /** A string as `args` is sent as raw JSON text, so that broken calls can be scripted. */
  readonly toolCalls?: readonly { readonly name: string; readonly args?: unknown }[]
  /** Files that the model makes; `data` is base64 or bytes. */
  readonly files?: readonly { readonly mediaType: string; readonly data: string | Uint8Array }[]
  readonly usage?: Partial<ModelUsage>
  readonly error?: {
    readonly status: number
    readonly message: string
    readonly headers?: Readonly<Record<string, string>>
  }
  /** `length`: the answer is cut off behind what it says here. */
  readonly endedBy?: 'length'
  /** Milliseconds before the answer begins. */
  readonly delay?: number
  /** Milliseconds before each further word of it. */
  readonly wordDelay?: number
}

/** The same small numbers for every answer that names none. */
const DEFAULT_USAGE: ModelUsage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0 }

/** Everything that the answer is made of; `id` makes the ids of its tool calls. */
export function scriptedContent(answer: ScriptedAnswer, id: string): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = []
  if (answer.reasoning) content.push({ type: 'reasoning', text: answer.reasoning })
  if (answer.text) content.push({ type: 'text', text: answer.text })
  for (const { mediaType, data } of answer.files ?? [])
    content.push({ type: 'file', mediaType, data: { type: 'data', data } })
  for (const [index, { name, args }] of (answer.toolCalls ?? []).entries()) {
    content.push({
      type: 'tool-call',
      toolCallId: `${id}-call-${index}`,
      toolName: name,
      input: argsText(args),
    })
  }
  return content
}

/** The same as a stream has it: text and reasoning word by word, then files and calls. */
export function* scriptedParts(answer: ScriptedAnswer, id: string): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'response-metadata', id }
  for (const part of scriptedContent(answer, id)) {
    if (part.type === 'text' || part.type === 'reasoning') {
      yield { type: `${part.type}-start`, id: part.type }
      for (const word of part.text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? []) {
        yield { type: `${part.type}-delta`, id: part.type, delta: word }
      }
      yield { type: `${part.type}-end`, id: part.type }
    } else if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName }
      yield { type: 'tool-input-delta', id: part.toolCallId, delta: part.input }
      yield { type: 'tool-input-end', id: part.toolCallId }
      yield part
    } else if (part.type === 'file') {
      yield part
    }
  }
  yield { type: 'finish', finishReason: scriptedFinish(answer), usage: scriptedUsage(answer) }
}

export function scriptedFinish(answer: ScriptedAnswer): LanguageModelV4FinishReason {
  const unified = answer.endedBy ?? (answer.toolCalls?.length ? 'tool-calls' : 'stop')
  return { unified, raw: unified }
}

export function scriptedUsage(answer: ScriptedAnswer): LanguageModelV4Usage {
  const { inputTokens, outputTokens, cachedInputTokens } = { ...DEFAULT_USAGE, ...answer.usage }
  return {
    inputTokens: {
      total: inputTokens,
      noCache: inputTokens - cachedInputTokens,
      cacheRead: cachedInputTokens,
      cacheWrite: 0,
    },
    outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
  }
}

/** The error that an AI SDK provider throws for such an answer. */
export function scriptedError({
  status,
  message,
  headers,
}: NonNullable<ScriptedAnswer['error']>): APICallError {
  return new APICallError({
    message,
    url: 'scripted:model',
    requestBodyValues: {},
    statusCode: status,
    ...(headers && { responseHeaders: { ...headers } }),
  })
}

function argsText(args: unknown): string {
  return typeof args === 'string' ? args : (JSON.stringify(args) ?? '{}')
}
