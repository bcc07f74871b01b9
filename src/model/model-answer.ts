import type { LanguageModelV4, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { ProviderPart } from '../protocol/message.js'

/** One complete answer of a model; an interrupted stream never becomes one. */
export interface ModelAnswer {
  readonly text: string
  /** Null if the model returned none. */
  readonly reasoning: string | null
  /** The calls for this runtime to execute, in the model's order, without those that the provider ran itself. */
  readonly toolCalls: readonly ModelToolCall[]
  /** The files that the model generated, in its order. */
  readonly files: readonly ModelFile[]
  /** All of these in the order of arrival, each with the metadata that its provider needs back. */
  readonly parts: readonly AnswerPart[]
  /** The number of parts whose metadata exceeded its limit and was dropped. */
  readonly metadataLeftOut: number
  /** The AI SDK's unified reason: `stop`, `length`, `content-filter`, `tool-calls` or `other`. */
  readonly finishReason: string
  readonly usage: ModelUsage
  readonly responseId: string | null
  /** The model that answered, by the provider's name: an alias is resolved there. */
  readonly responseModel: string | null
}

/** A tool call as the model wrote it, before any validation. */
export interface ModelToolCall {
  /** The provider's id, for reference only: the transcript has ids of its own. */
  readonly providerCallId: string
  readonly name: string
  /** Raw JSON text, possibly broken. */
  readonly input: string
}

/** A file that a model generated. */
export interface ModelFile {
  readonly mimeType: string
  readonly data: Uint8Array
}

/** A piece of an answer. `from` and `to` are offsets in its text or reasoning; a piece may be empty. */
export type AnswerPart = (
  | { readonly kind: 'text' | 'reasoning'; readonly from: number; readonly to: number }
  | { readonly kind: 'call' | 'file'; readonly index: number }
  | { readonly kind: 'provider'; readonly part: ProviderPart }
) & { readonly providerMetadata?: SharedV4ProviderMetadata }

/** Tokens of one call; 0 where the provider gives no number. `cachedInputTokens` are part of `inputTokens`. */
export interface ModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
}

/** A piece of an answer in progress; the pieces of one kind, and of one call, joined, are the answer's text of that kind. */
export type AnswerDelta =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'args'; readonly call: WrittenCall; readonly text: string }

/** A call while the model writes its arguments. */
export interface WrittenCall {
  /** Its place among the calls for this runtime, in the order in which they begin. */
  readonly index: number
  readonly name: string
}

/** Any AI SDK language model of specification v4, the only kind of model that threads call. */
export type LanguageModel = LanguageModelV4
