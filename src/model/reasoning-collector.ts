import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { metadataOf, textOf } from './provider-values.js'
import type { ReasoningPart } from './context/reasoning-parts.js'

type Piece = Extract<
  LanguageModelV4StreamPart,
  { type: 'reasoning-start' | 'reasoning-delta' | 'reasoning-end' }
>

/** Gathers the pieces of reasoning by their ids, each with all that its provider says of it: signatures come last. */
export class ReasoningCollector {
  readonly #parts = new Map<string, ReasoningPart>()

  take(piece: Piece): void {
    const known = this.#parts.get(piece.id) ?? { text: '' }
    const text = piece.type === 'reasoning-delta' ? known.text + textOf(piece.delta) : known.text
    const metadata = merged(known.providerMetadata, metadataOf(piece.providerMetadata))
    this.#parts.set(piece.id, metadata === undefined ? { text } : { text, providerMetadata: metadata })
  }

  /** In the order in which they began. */
  parts(): readonly ReasoningPart[] {
    return [...this.#parts.values()].filter(
      ({ text, providerMetadata }) => text !== '' || providerMetadata !== undefined,
    )
  }
}

function merged(
  one: SharedV4ProviderMetadata | undefined,
  other: SharedV4ProviderMetadata | undefined,
): SharedV4ProviderMetadata | undefined {
  if (one === undefined || other === undefined) return one ?? other
  const providers = Object.entries(other).map(([key, value]) => [key, { ...one[key], ...value }] as const)
  return { ...one, ...Object.fromEntries(providers) }
}
