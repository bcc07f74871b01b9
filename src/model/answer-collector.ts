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
  WrittenCall,
} from './model-answer.js'
import { providerPartOf } from './provider-parts.js'
import type { ProviderPart } from '../protocol/message.js'
import { ModelError } from './model-error.js'
import type { PartialAnswer } from './model-error.js'

const NO_TEXT = 'Expected the parts of the answer to be texts, got something else.'

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** Collects the parts of one stream into an answer; passes on text, reasoning and arguments of calls in the order of arrival. */
export class AnswerCollector {
  readonly #answerBytes: number
  readonly #onDelta: (delta: AnswerDelta) => void
  readonly #texts = { text: '', reasoning: '' }
  readonly #toolCalls: ModelToolCall[] = []
  readonly #files = new FileCollector()
  readonly #parts = new PartCollector()
  readonly #streamedInputs = new Set<string>()
  /** By the provider's id, those for this runtime. */
  readonly #begunCalls = new Map<string, WrittenCall>()
  #bytes = 0
  #responseId: string | null = null
  #responseModel: string | null = null

  constructor(options: { readonly answerBytes: number; readonly onDelta: (delta: AnswerDelta) => void }) {
    this.#answerBytes = options.answerBytes
    this.#onDelta = options.onDelta
  }

  /**
   * Takes the next part; returns true if it carried content.
   * @throws ModelError `too_large` once the answer exceeds its limit of bytes, `incomplete` for a delta that is no text
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
        // Each part of reasoning is a paragraph; without a separator their words would run together.
        if (this.#texts.reasoning !== '') this.#append('reasoning', '\n\n')
        return false
      case 'tool-input-delta':
        this.#streamedInputs.add(part.id)
        return this.#appendInput(part.id, part.delta)
      case 'tool-call':
        if (part.providerExecuted === true) return this.#takeProviderPart(part)
        if (!this.#streamedInputs.has(part.toolCallId)) this.#count(argumentsOf(part.input))
        this.#beginCall(part.toolCallId, part.toolName)
        this.#parts.add('call', this.#toolCalls.length, part.providerMetadata)
        this.#toolCalls.push(toolCallOf(part))
        return true
      case 'file':
        this.#takeFile(part)
        return true
      case 'response-metadata':
        this.#responseId = textOf(part.id) || this.#responseId
        this.#responseModel = textOf(part.modelId) || this.#responseModel
        return false
      case 'tool-result':
      case 'source':
        return this.#takeProviderPart(part)
      case 'tool-input-start':
        if (part.providerExecuted !== true) this.#beginCall(part.id, part.toolName)
        return true
      // A sketch that belongs to the reasoning of the model, not to its answer.
      case 'reasoning-file':
        return true
      default:
        // Starts, ends, pings, and custom parts: @ai-sdk/anthropic sends one as its bare preamble.
        return false
    }
  }

  /** The content so far. */
  partial(): PartialAnswer {
    const { text, reasoning } = this.#texts
    return { text, reasoning: reasoning === '' ? null : reasoning, files: this.#files.taken }
  }

  /**
   * The whole answer, once the provider has called it finished.
   * @throws ModelError `incomplete` or `content_filter` for a finish of an answer that is not whole
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

  #takeProviderPart(part: Parameters<typeof providerPartOf>[0] & { providerMetadata?: unknown }): true {
    const made = providerPartOf(part)
    if (made === null) return true
    this.#count(JSON.stringify(made))
    this.#parts.addProviderPart(made, part.providerMetadata)
    return true
  }

  #takeFile(part: LanguageModelV4File): void {
    if (isWithBytes(part)) {
      this.#parts.add('file', this.#files.taken.length, part.providerMetadata)
      this.#files.take(part)
      return
    }
    // The worker never requests an address that an answer names; the reader of the message may.
    const url = 'url' in part.data ? String(part.data.url) : ''
    const delta = `${this.#texts.text === '' ? '' : '\n'}${url}`
    this.#parts.take({ type: 'text-start', id: delta })
    this.#parts.take({ type: 'text-delta', id: delta, delta })
    this.#append('text', delta)
  }

  #beginCall(id: string, name: string): void {
    const { size: index } = this.#begunCalls
    // Calls beyond the limit are not made.
    if (index < LIMITS.toolCallsPerAnswer && !this.#begunCalls.has(id))
      this.#begunCalls.set(id, { index, name: textOf(name).slice(0, LIMITS.nameLength) })
  }

  #appendInput(id: string, text: string): boolean {
    if (!this.#count(text)) return false
    const call = this.#begunCalls.get(id)
    if (call !== undefined) this.#onDelta({ kind: 'args', call, text })
    return true
  }

  #append(kind: 'text' | 'reasoning', text: string): boolean {
    if (!this.#count(text)) return false
    this.#texts[kind] += text
    this.#onDelta({ kind, text })
    return true
  }

  /** Other values than text, such as bytes, may also have a length, and would be stored as they are. */
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

/** Some provider libraries end an interrupted stream with a finish: `interrupted`, or `other` without a raw reason. */
function finishProblem({ finishReason, usage }: FinishPart): ModelError | undefined {
  const { unified, raw } = finishReason
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined)) {
    return incompleteError('The provider cut its answer before the end.', usageOf(usage))
  }
  if (unified === 'error')
    return incompleteError('The provider ended its answer with an error.', usageOf(usage))
  if (unified === 'content-filter') {
    // Text before the intervention of the filter is no answer either: another model may give a whole answer.
    const message = 'The content filter of the provider withheld the answer, or the rest of it.'
    return new ModelError({ kind: 'content_filter', message, retryable: false, usage: usageOf(usage) })
  }
  return undefined
}

function incompleteError(message: string, usage: ModelUsage): ModelError {
  return new ModelError({ kind: 'incomplete', message, retryable: true, usage })
}

/** The usage in a finish; 0 for an absent number. */
function usageOf(usage: LanguageModelV4Usage): ModelUsage {
  return {
    inputTokens: tokensOf(usage.inputTokens.total),
    outputTokens: tokensOf(usage.outputTokens.total),
    cachedInputTokens: tokensOf(usage.inputTokens.cacheRead),
  }
}

/** Each later request reads the metadata of the parts again; a signature has some KB. */
export const PART_METADATA_BYTES = 1024 * 1024
/** Pieces of text, reasoning, calls and files: a stream with more of them never ends. */
export const PARTS_PER_ANSWER = 2000

type Piece = Extract<
  LanguageModelV4StreamPart,
  {
    type: 'text-start' | 'text-delta' | 'text-end' | 'reasoning-start' | 'reasoning-delta' | 'reasoning-end'
  }
>

interface Collected {
  readonly kind: AnswerPart['kind']
  /** The index of a call or file among those of its kind. */
  readonly index: number
  readonly part: ProviderPart | null
  text: string
  metadata: SharedV4ProviderMetadata | undefined
  /** Bytes of the metadata as JSON; null: it exceeded the limit. */
  bytes: number | null
}

interface CollectedParts {
  readonly parts: readonly AnswerPart[]
  /** The number of parts whose metadata exceeded its limit and was dropped. */
  readonly metadataLeftOut: number
}

/**
 * Collects the parts of an answer in the order in which they begin, each with all metadata of its provider. The metadata
 * of one answer has a limit; a part whose metadata exceeds it keeps none.
 */
export class PartCollector {
  readonly #parts: Collected[] = []
  readonly #open = new Map<string, Collected>()
  #bytes = 0

  /**
   * Takes a piece of text or reasoning; a signature often comes with the last piece.
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
   * Adds a call or a file, the answer's `index`th of its kind.
   * @throws ModelError `too_large` for an answer of too many parts
   */
  add(kind: 'call' | 'file', index: number, metadata: unknown): void {
    this.#keep(this.#begin(kind, index), metadata)
  }

  /** Adds what the provider did itself. @throws ModelError `too_large` for an answer of too many parts */
  addProviderPart(part: ProviderPart, metadata: unknown): void {
    this.#keep(this.#begin('provider', 0, part), metadata)
  }

  /** Returns the parts, with their offsets in the joined texts of the answer. */
  collect(texts: { readonly text: string; readonly reasoning: string }): CollectedParts {
    const ends = { text: 0, reasoning: 0 }
    const parts = this.#parts.flatMap(({ kind, text, index, metadata, part }): readonly AnswerPart[] => {
      const given = metadata === undefined ? {} : { providerMetadata: metadata }
      if (kind === 'call' || kind === 'file') return [{ kind, index, ...given }]
      if (kind === 'provider') return part === null ? [] : [{ kind, part, ...given }]
      if (text === '' && metadata === undefined) return []
      const from = texts[kind].indexOf(text, ends[kind])
      // Interleaved parts are nowhere contiguous in the joined text.
      if (from === -1) return []
      ends[kind] = from + text.length
      return [{ kind, from, to: ends[kind], ...given }]
    })
    return { parts, metadataLeftOut: this.#parts.filter(({ bytes }) => bytes === null).length }
  }

  #begin(kind: Collected['kind'], index: number, of: ProviderPart | null = null): Collected {
    if (this.#parts.length >= PARTS_PER_ANSWER) {
      const message = `Expected an answer of at most ${PARTS_PER_ANSWER} parts, got more.`
      throw new ModelError({ kind: 'too_large', message, retryable: false })
    }
    const part: Collected = { kind, index, part: of, text: '', metadata: undefined, bytes: 0 }
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

/** A file with its bytes, not with an address. */
type FileWithBytes = LanguageModelV4File & { readonly data: { readonly type: 'data' } }

/**
 * Collects the files of one answer. They stay in memory until the answer is whole, so together they have the limit of
 * one file.
 */
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

/** Returns a copy: the provider's library may reuse its buffer. */
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

/**
 * The types of a provider's data hold for the compiler only: its library passes on anything. No value may fail a
 * commit.
 */

/** More tokens than any answer has; a sum of such numbers stays an exact integer. */
const MOST_TOKENS = 1e12

/** The text itself, or '' for any other value. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The arguments of a call as raw JSON text: a parsed value is serialized, or '' if that is impossible. */
export function argumentsOf(value: unknown): string {
  return typeof value === 'string' ? value : (jsonTextOf(value) ?? '')
}

/** A number of tokens: a whole number from 0 on; 0 for any other value. */
export function tokensOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.round(Math.min(value, MOST_TOKENS)) : 0
}

/** The part of the metadata that is JSON, by provider; undefined if no part is. */
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
    // The value has a cycle or a BigInt, or throws on being read.
    return undefined
  }
}
