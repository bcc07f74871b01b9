import { FileCollector } from './file-collector.js'
import { ModelError } from './model-error.js'
import { PartCollector } from './part-collector.js'
import { argumentsOf, textOf, tokensOf } from './provider-values.js'

import type { LanguageModelV4File, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { FileWithBytes } from './file-collector.js'
import type { PartialAnswer } from './model-aborted-error.js'
import type { AnswerDelta, ModelAnswer, ModelToolCall, ModelUsage } from './model-answer.js'

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

  /** The whole, once the provider said that it is. */
  answer({ finishReason, usage }: FinishPart): ModelAnswer {
    return {
      ...this.partial(),
      ...this.#parts.collected(this.#texts),
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

/** What a finish says of the cost; 0 where it says nothing. */
export function usageOf(usage: LanguageModelV4Usage): ModelUsage {
  return {
    inputTokens: tokensOf(usage.inputTokens.total),
    outputTokens: tokensOf(usage.outputTokens.total),
    cachedInputTokens: tokensOf(usage.inputTokens.cacheRead),
  }
}
