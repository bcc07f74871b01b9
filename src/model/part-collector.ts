import type { LanguageModelV4StreamPart, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { AnswerPart } from './model-answer.js'
import { ModelError } from './model-error.js'
import { metadataOf, textOf } from './provider-values.js'

/** What a provider gives with the parts of one answer is read with each request; signatures have some KB. */
export const PART_METADATA_BYTES = 1024 * 1024
/** Pieces of text, reasoning, calls and files: more are a stream that never ends. */
export const PARTS_PER_ANSWER = 2000

type Piece = Extract<
  LanguageModelV4StreamPart,
  {
    type: 'text-start' | 'text-delta' | 'text-end' | 'reasoning-start' | 'reasoning-delta' | 'reasoning-end'
  }
>

interface Collected {
  readonly kind: AnswerPart['kind']
  /** Of calls and files: the answer's how manieth. */
  readonly index: number
  text: string
  metadata: SharedV4ProviderMetadata | undefined
  /** Bytes of the metadata as JSON; null: it did not fit. */
  bytes: number | null
}

export interface CollectedParts {
  readonly parts: readonly AnswerPart[]
  /** How many parts lost their metadata to its limit. */
  readonly metadataLeftOut: number
}

/**
 * Gathers the parts of an answer in the order in which they begin, each with all that its provider says of it. Metadata of one
 * answer has a limit; a part whose metadata does not fit keeps none of it.
 */
export class PartCollector {
  readonly #parts: Collected[] = []
  readonly #open = new Map<string, Collected>()
  #bytes = 0

  /**
   * A piece of text or reasoning: signatures often come with the last one.
   * @throws ModelError `too_large` for an answer of too many parts
   */
  take(piece: Piece): void {
    const kind = piece.type.startsWith('text') ? 'text' : 'reasoning'
    const key = `${kind}:${piece.id}`
    const known = piece.type.endsWith('-start') ? undefined : this.#open.get(key)
    const part = known ?? this.#begin(kind, 0)
    this.#open.set(key, part)
    if ('delta' in piece) part.text += textOf(piece.delta)
    this.#keep(part, piece.providerMetadata)
  }

  /**
   * A call or a file, the answer's `index`th of its kind.
   * @throws ModelError `too_large` for an answer of too many parts
   */
  add(kind: 'call' | 'file', index: number, metadata: unknown): void {
    this.#keep(this.#begin(kind, index), metadata)
  }

  /** The parts, with their places in the joined texts of the answer. */
  collected(texts: { readonly text: string; readonly reasoning: string }): CollectedParts {
    const ends = { text: 0, reasoning: 0 }
    const parts = this.#parts.flatMap(({ kind, text, index, metadata }): readonly AnswerPart[] => {
      const given = metadata === undefined ? {} : { providerMetadata: metadata }
      if (kind === 'call' || kind === 'file') return [{ kind, index, ...given }]
      if (text === '' && metadata === undefined) return []
      const from = texts[kind].indexOf(text, ends[kind])
      // The words of parts that came intertwined stand nowhere by themselves.
      if (from === -1) return []
      ends[kind] = from + text.length
      return [{ kind, from, to: ends[kind], ...given }]
    })
    return { parts, metadataLeftOut: this.#parts.filter(({ bytes }) => bytes === null).length }
  }

  #begin(kind: Collected['kind'], index: number): Collected {
    if (this.#parts.length >= PARTS_PER_ANSWER) {
      const message = `Expected an answer of at most ${PARTS_PER_ANSWER} parts, got more.`
      throw new ModelError({ kind: 'too_large', message, retryable: false })
    }
    const part: Collected = { kind, index, text: '', metadata: undefined, bytes: 0 }
    this.#parts.push(part)
    return part
  }

  #keep(part: Collected, given: unknown): void {
    const metadata = given === undefined ? undefined : metadataOf(given)
    if (metadata === undefined || part.bytes === null) return
    const whole = merged(part.metadata, metadata)
    const bytes = Buffer.byteLength(JSON.stringify(whole))
    const others = this.#bytes - part.bytes
    const fits = others + bytes <= PART_METADATA_BYTES
    part.metadata = fits ? whole : undefined
    part.bytes = fits ? bytes : null
    this.#bytes = others + (part.bytes ?? 0)
  }
}

function merged(
  one: SharedV4ProviderMetadata | undefined,
  other: SharedV4ProviderMetadata,
): SharedV4ProviderMetadata {
  if (one === undefined) return other
  const providers = Object.entries(other).map(([key, value]) => [key, { ...one[key], ...value }] as const)
  return { ...one, ...Object.fromEntries(providers) }
}
