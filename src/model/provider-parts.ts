/**
 * What a provider does itself while a model answers: its own calls, such as a search of the web, their results, and the sources of the
 * answer.
 *
 * Owns: the shape in which they are stored with the answer, and how they go back to the provider. Does not own: their place among the
 * other parts (`answer-collector.ts`, `context/answer-parts.ts`).
 * Invariants: this runtime never runs such a call, and gives it no result. A call goes back with its result or not at all, because
 * providers refuse a half of the pair.
 */
import type {
  LanguageModelV4Source,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ProviderPart } from '../protocol/message.js'
import type { JsonValue } from '../protocol/values.js'

/** Null: the part is none of these, or a preview that a later part replaces. */
export function providerPartOf(part: LanguageModelV4StreamPart): ProviderPart | null {
  switch (part.type) {
    case 'tool-call':
      if (part.providerExecuted !== true) return null
      return {
        type: 'call',
        id: text(part.toolCallId),
        name: text(part.toolName),
        input: inputOf(part.input),
      }
    case 'tool-result': {
      if (part.preliminary === true) return null
      const made = { id: text(part.toolCallId), name: text(part.toolName), isError: part.isError === true }
      return { type: 'result', ...made, output: json(part.result) }
    }
    case 'source':
      return sourceOf(part)
    default:
      return null
  }
}

function sourceOf(source: LanguageModelV4Source): ProviderPart {
  const id = text(source.id)
  if (source.sourceType === 'url')
    return { type: 'source', id, url: text(source.url), title: text(source.title) || null }
  const { mediaType, title, filename } = source
  return {
    ...{ type: 'document', id, mediaType: text(mediaType), title: text(title) },
    filename: text(filename) || null,
  }
}

/** The types of a provider's data hold for the compiler only. */
function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function json(value: unknown): JsonValue {
  try {
    return JSON.parse(JSON.stringify(value) ?? 'null') as JsonValue
  } catch {
    return null
  }
}

/** What a model wrote need not be JSON. */
function inputOf(input: unknown): JsonValue {
  if (typeof input !== 'string') return json(input)
  try {
    return JSON.parse(input) as JsonValue
  } catch {
    return input
  }
}

/** The ids of the calls that have their results among these parts. */
export function answeredCalls(parts: readonly ProviderPart[]): ReadonlySet<string> {
  const results = new Set(parts.flatMap((part) => (part.type === 'result' ? [part.id] : [])))
  return new Set(parts.flatMap((part) => (part.type === 'call' && results.has(part.id) ? [part.id] : [])))
}

/** The part of a request; null for a source, which is for readers. */
export function requestPartOf(
  part: ProviderPart,
): LanguageModelV4ToolCallPart | LanguageModelV4ToolResultPart | null {
  switch (part.type) {
    case 'call': {
      const { id: toolCallId, name: toolName, input } = part
      return { type: 'tool-call', toolCallId, toolName, input: input as JsonValue, providerExecuted: true }
    }
    case 'result': {
      const { id: toolCallId, name: toolName } = part
      const value = part.output as JsonValue
      return {
        type: 'tool-result',
        toolCallId,
        toolName,
        output: { type: part.isError ? 'error-json' : 'json', value },
      }
    }
    default:
      return null
  }
}
