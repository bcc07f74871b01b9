import type {
  LanguageModelV4File,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { LIMITS } from '../protocol/limits.js'
import { isObject } from '../protocol/values.js'
import type {
  AnswerDelta,
  AnswerPart,
  ModelAnswer,
  ModelFile,
  ModelToolCall,
  ModelUsage,
} from './model-answer.js'
import { ModelError } from './model-error.js'
import type { PartialAnswer } from './model-error.js'

const NO_TEXT = 'Expected the parts of the answer to be texts, got something else.'

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** Gathers the parts of one stream into an answer; tells of text and reasoning in the order in which they come. */
export class AnswerCollector {
  readonly #answerBytes: number
  readonly #onDelta: (delta: AnswerDelta) => void
  readonly #texts = { text: '', reasoning: '' }
  readonly #toolCalls: ModelToolCall[] = []
  readonly #files = new FileCollector()
  readonly #parts = new PartCollector()
  readonly #streamedInputs = new Set<string>()
  #bytes = 0
  #responseId: string | null = null
  #responseModel: string | null = null

  constructor(options: { readonly answerBytes: number; readonly onDelta: (delta: AnswerDelta) => void }) {
    this.#answerBytes = options.answerBytes
    this.#onDelta = options.onDelta
  }

  /**
   * Takes the next part and says whether it carried content.
   * @throws ModelError `too_large` once the answer passes its limit of bytes, `incomplete` for words that are no text
   */
  take(part: LanguageModelV4StreamPart): boolean {
    switch (part.type) {
      case 'text-start':
      case 'text-end':
      case 'reasoning-end':
        this.#parts.take(part)
        return false
      case 'text-delta':
        this.#parts.take(part)
        return this.#append('text', part.delta)
      case 'reasoning-delta':
        this.#parts.take(part)
        return this.#append('reasoning', part.delta)
      case 'reasoning-start':
        this.#parts.take(part)
        // Parts of reasoning are paragraphs of their own; joined as they are, their words would run together.
        if (this.#texts.reasoning !== '') this.#append('reasoning', '\n\n')
        return false
      case 'tool-input-delta':
        this.#streamedInputs.add(part.id)
        return this.#count(part.delta)
      case 'tool-call':
        if (!this.#streamedInputs.has(part.toolCallId)) this.#count(argumentsOf(part.input))
        if (part.providerExecuted !== true) {
          this.#parts.add('call', this.#toolCalls.length, part.providerMetadata)
          this.#toolCalls.push(toolCallOf(part))
        }
        return true
      case 'file':
        this.#takeFile(part)
        return true
      case 'response-metadata':
        this.#responseId = textOf(part.id) || this.#responseId
        this.#responseModel = textOf(part.modelId) || this.#responseModel
        return false
      case 'tool-input-start':
      case 'tool-result':
      // A sketch that the model made on its way, as its words of reasoning are; it belongs to no answer.
      case 'reasoning-file':
      case 'source':
        return true
      default:
        // Starts, ends, pings, and custom parts: @ai-sdk/anthropic makes one of its bare preamble.
        return false
    }
  }

  /** What came so far. */
  partial(): PartialAnswer {
    const { text, reasoning } = this.#texts
    return { text, reasoning: reasoning === '' ? null : reasoning, files: this.#files.taken }
  }

  /**
   * The whole answer, once the provider has called it finished.
   * @throws ModelError `incomplete` or `content_filter` for a finish that says that the answer is not whole
   */
  answer(finish: FinishPart): ModelAnswer {
    const problem = finishProblem(finish)
    if (problem !== undefined) throw problem
    const { finishReason, usage } = finish
    return {
      ...this.partial(),
      ...this.#parts.collect(this.#texts),
      toolCalls: this.#toolCalls,
      finishReason: textOf(finishReason.unified) || 'other',
      usage: usageOf(usage),
      responseId: this.#responseId,
      responseModel: this.#responseModel,
    }
  }

  #takeFile(part: LanguageModelV4File): void {
    if (isWithBytes(part)) {
      this.#parts.add('file', this.#files.taken.length, part.providerMetadata)
      this.#files.take(part)
      return
    }
    // No process of ours goes to an address that an answer names: who reads the message may.
    const url = 'url' in part.data ? String(part.data.url) : ''
    const delta = `${this.#texts.text === '' ? '' : '\n'}${url}`
    this.#parts.take({ type: 'text-start', id: delta })
    this.#parts.take({ type: 'text-delta', id: delta, delta })
    this.#append('text', delta)
  }

  #append(kind: AnswerDelta['kind'], text: string): boolean {
    if (!this.#count(text)) return false
    this.#texts[kind] += text
    this.#onDelta({ kind, text })
    return true
  }

  /** What is no text might have a length all the same, as bytes do, and would be stored as it is. */
  #count(text: unknown): boolean {
    if (typeof text !== 'string')
      throw new ModelError({ kind: 'incomplete', message: NO_TEXT, retryable: true })
    this.#bytes += Buffer.byteLength(text)
    if (this.#bytes <= this.#answerBytes) return text !== ''
    const message =
      `Expected an answer of at most ${this.#answerBytes} bytes, got more. ` +
      'Set maxOutputTokens, or ask the model to answer in parts.'
    throw new ModelError({ kind: 'too_large', message, retryable: false })
  }
}

function isWithBytes(part: LanguageModelV4File): part is FileWithBytes {
  return part.data.type === 'data'
}

function toolCallOf(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): ModelToolCall {
  const { toolCallId, toolName, input } = part
  return { providerCallId: textOf(toolCallId), name: textOf(toolName), input: argumentsOf(input) }
}

/** Some provider libraries end a cut stream with a finish part: `interrupted`, or `other` without a raw reason. */
function finishProblem({ finishReason, usage }: FinishPart): ModelError | undefined {
  const { unified, raw } = finishReason
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined)) {
    return incompleteError('The provider cut its answer before the end.', usageOf(usage))
  }
  if (unified === 'error')
    return incompleteError('The provider ended its answer with an error.', usageOf(usage))
  if (unified === 'content-filter') {
    // Words that came before the filter cut in are no answer either: another model may give a whole one.
    const message = 'The content filter of the provider withheld the answer, or the rest of it.'
    return new ModelError({ kind: 'content_filter', message, retryable: false, usage: usageOf(usage) })
  }
  return undefined
}

function incompleteError(message: string, usage: ModelUsage): ModelError {
  return new ModelError({ kind: 'incomplete', message, retryable: true, usage })
}

/** What a finish says of the cost; 0 where it says nothing. */
function usageOf(usage: LanguageModelV4Usage): ModelUsage {
  return {
    inputTokens: tokensOf(usage.inputTokens.total),
    outputTokens: tokensOf(usage.outputTokens.total),
    cachedInputTokens: tokensOf(usage.inputTokens.cacheRead),
  }
}

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

interface CollectedParts {
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
  collect(texts: { readonly text: string; readonly reasoning: string }): CollectedParts {
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
    const whole = merge(part.metadata, metadata)
    const bytes = Buffer.byteLength(JSON.stringify(whole))
    const others = this.#bytes - part.bytes
    const fits = others + bytes <= PART_METADATA_BYTES
    part.metadata = fits ? whole : undefined
    part.bytes = fits ? bytes : null
    this.#bytes = others + (part.bytes ?? 0)
  }
}

function merge(
  one: SharedV4ProviderMetadata | undefined,
  other: SharedV4ProviderMetadata,
): SharedV4ProviderMetadata {
  if (one === undefined) return other
  const providers = Object.entries(other).map(([key, value]) => [key, { ...one[key], ...value }] as const)
  return { ...one, ...Object.fromEntries(providers) }
}

const MEGABYTE = 1024 * 1024
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/
const UNKNOWN_TYPE = 'application/octet-stream'

/** A file that came whole, not as an address. */
type FileWithBytes = LanguageModelV4File & { readonly data: { readonly type: 'data' } }

/** Gathers the files of one answer; they are in memory until the answer is whole, so that they have the limit of one file together. */
class FileCollector {
  readonly #taken: ModelFile[] = []
  #bytes = 0

  get taken(): readonly ModelFile[] {
    return this.#taken
  }

  /** @throws ModelError `too_large` for too many or too large files, `incomplete` for one without readable bytes */
  take({ data, mediaType }: FileWithBytes): void {
    if (this.#taken.length >= LIMITS.messageAttachments)
      throw tooLargeError(`at most ${LIMITS.messageAttachments} files`)
    this.#bytes += sizeOf(data.data)
    if (this.#bytes > LIMITS.fileBytes)
      throw tooLargeError(`files of at most ${LIMITS.fileBytes / MEGABYTE} MB together`)
    this.#taken.push({ mimeType: mediaTypeOf(mediaType), data: bytesOf(data.data) })
  }
}

function sizeOf(data: unknown): number {
  if (data instanceof Uint8Array) return data.byteLength
  if (typeof data === 'string') return Buffer.byteLength(data, 'base64')
  throw unreadableError('something else')
}

/** A copy: the provider's library may use its buffer again. */
function bytesOf(data: string | Uint8Array): Uint8Array {
  if (typeof data !== 'string') return Uint8Array.from(data)
  if (!BASE64.test(data)) throw unreadableError('a text that is not base64')
  return Buffer.from(data, 'base64')
}

function mediaTypeOf(value: unknown): string {
  const text = textOf(value).trim().toLowerCase()
  return MEDIA_TYPE.test(text) ? text : UNKNOWN_TYPE
}

function unreadableError(came: string): ModelError {
  const message = `Expected a file of the answer as bytes or base64, got ${came}.`
  return new ModelError({ kind: 'incomplete', message, retryable: true })
}

function tooLargeError(expected: string): ModelError {
  const message = `Expected an answer with ${expected}, got more. Ask the model for fewer or smaller files.`
  return new ModelError({ kind: 'too_large', message, retryable: false })
}

/** What a provider sends has types for the compiler alone: its library passes on what came. None of it may fail a commit. */

/** More tokens than any answer has: a sum of them stays a whole number. */
const MOST_TOKENS = 1e12

/** A text, or '' for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The arguments of a call as raw JSON text: a parsed value is written out, and what cannot be is ''. */
export function argumentsOf(value: unknown): string {
  return typeof value === 'string' ? value : (jsonTextOf(value) ?? '')
}

/** Tokens: a whole number from 0 on; 0 for what is none. */
export function tokensOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.round(Math.min(value, MOST_TOKENS)) : 0
}

/** What of its metadata is JSON, by provider; undefined where nothing is. */
export function metadataOf(value: unknown): SharedV4ProviderMetadata | undefined {
  const text = jsonTextOf(value)
  const metadata: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!isObject(metadata)) return undefined
  const entries = Object.entries(metadata).filter(([, fields]) => isObject(fields))
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as SharedV4ProviderMetadata)
}

function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined
  } catch {
    // A ring, a BigInt, or something that throws when it is read.
    return undefined
  }
}
