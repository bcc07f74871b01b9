import { parseJson } from './parse-json.js'

import type {
  LanguageModelV4ReasoningPart,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type { TranscriptRow } from './transcript-row.js'

/** Reasoning as its provider takes it back, and the model that wrote it. */
export interface ReasoningDetails {
  /** Name of the model's definition. */
  readonly model: string
  readonly parts: readonly ReasoningPart[]
}

/** `providerMetadata` holds what proves to the provider that the words are its own. */
export interface ReasoningPart {
  readonly text: string
  readonly providerMetadata?: SharedV4ProviderMetadata
}

/** Whose reasoning is sent again: to nobody else is it of use, and its signature is refused. */
export interface ReasoningAuthor {
  readonly prompt: string
  readonly model: string
}

/** The reasoning of a row, for its author only. */
export function reasoningParts(
  row: TranscriptRow,
  author: ReasoningAuthor | null,
): LanguageModelV4ReasoningPart[] {
  if (author === null || row.prompt !== author.prompt || row.reasoning_details === null) return []
  const details = parseJson(row.reasoning_details) as Partial<ReasoningDetails> | undefined
  if (details?.model !== author.model || !Array.isArray(details.parts)) return []
  const parts: readonly ReasoningPart[] = details.parts
  return parts.map(({ text, providerMetadata }) => ({
    type: 'reasoning',
    text,
    ...(providerMetadata === undefined ? {} : { providerOptions: withoutItems(providerMetadata) }),
  }))
}

/**
 * An item id refers to what the provider keeps, and there the reasoning belongs to calls under its own ids; ours are other
 * ids, so that it would be refused. Encrypted content and signatures stand for themselves.
 */
function withoutItems(metadata: SharedV4ProviderMetadata): SharedV4ProviderOptions {
  return Object.fromEntries(
    Object.entries(metadata).map(([provider, { itemId: _itemId, ...rest }]) => [provider, rest]),
  )
}
