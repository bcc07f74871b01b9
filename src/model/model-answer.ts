import type { LanguageModelV4, SharedV4ProviderMetadata } from '@ai-sdk/provider'

/** One complete answer of a model; a stream that was cut never becomes one. */
export interface ModelAnswer {
  readonly text: string
  /** Null if the model showed none. */
  readonly reasoning: string | null
  /** The calls that are ours to execute, in the model's order; what the provider ran itself is left out. */
  readonly toolCalls: readonly ModelToolCall[]
  /** What the model made beside its words, in its order. */
  readonly files: readonly ModelFile[]
  /** All of these as they came, each with what its provider wants back with it. */
  readonly parts: readonly AnswerPart[]
  /** How many parts lost their metadata to its limit. */
  readonly metadataLeftOut: number
  /** The AI SDK's unified reason: `stop`, `length`, `content-filter`, `tool-calls` or `other`. */
  readonly finishReason: string
  readonly usage: ModelUsage
  readonly responseId: string | null
  /** The model that answered, by the provider's name: an alias is resolved there. */
  readonly responseModel: string | null
}

/** A tool call as the model wrote it, not yet checked in any way. */
export interface ModelToolCall {
  /** The provider's id, kept for reference: the ids of the transcript are ours. */
  readonly providerCallId: string
  readonly name: string
  /** Raw JSON text, maybe broken. */
  readonly input: string
}

/** A file that a model made. */
export interface ModelFile {
  readonly mimeType: string
  readonly data: Uint8Array
}

/** A piece of an answer. `from` and `to` are places in its text or reasoning; some pieces hold nothing to read. */
export type AnswerPart = (
  | { readonly kind: 'text' | 'reasoning'; readonly from: number; readonly to: number }
  | { readonly kind: 'call' | 'file'; readonly index: number }
) & { readonly providerMetadata?: SharedV4ProviderMetadata }

/** Tokens of one call; 0 where the provider says nothing. `cachedInputTokens` are part of `inputTokens`. */
export interface ModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
}

/** A piece of an answer while it is produced; the pieces of one kind, joined, are the answer's text of that kind. */
export interface AnswerDelta {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
}

/** Any AI SDK language model of specification v4: the one kind of model that threads call. */
export type LanguageModel = LanguageModelV4
