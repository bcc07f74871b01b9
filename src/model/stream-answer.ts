import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider'
import { LIMITS } from '../protocol/limits.js'
import { AnswerCollector } from './answer-collector.js'
import { classifyModelError } from './classify-model-error.js'
import type { AnswerDelta, LanguageModel, ModelAnswer } from './model-answer.js'
import { ModelAbortedError, ModelError } from './model-error.js'

/** The request to a model, without the abort signal, which each attempt sets. */
export type ModelRequest = Omit<LanguageModelV4CallOptions, 'abortSignal'>

interface StreamAnswerOptions {
  readonly model: LanguageModel
  readonly options: ModelRequest
  /** Aborts when the caller stops the call. */
  readonly signal: AbortSignal
  /** @default MODEL_LIMITS */
  readonly limits?: ModelLimits
  /** Receives each piece at once; must not throw. */
  readonly onDelta: (delta: AnswerDelta) => void
}

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

const UNFINISHED = 'The stream of the answer ended before it was finished.'

/**
 * Makes one attempt at an answer, bounded in time and size. Only a stream that the provider itself has called finished
 * becomes an answer; an empty answer is valid.
 * @throws ModelError for every failure of the provider, `stalled` and `too_large` included.
 * @throws ModelAbortedError with the partial text when the caller's signal aborts.
 */
export async function streamAnswer(attempt: StreamAnswerOptions): Promise<ModelAnswer> {
  const { signal, limits = MODEL_LIMITS, onDelta } = attempt
  const collector = new AnswerCollector({ answerBytes: limits.answerBytes, onDelta })
  const watch = watchAttempt(signal, limits)
  try {
    const finish = await readStream(attempt, watch, collector)
    return collector.answer(finish)
  } catch (error) {
    // The reason must be read before the abort of the provider below, which would hide it.
    const reason: unknown = watch.signal.aborted ? watch.signal.reason : error
    watch.abort()
    if (signal.aborted) throw new ModelAbortedError({ partial: collector.partial(), cause: signal.reason })
    throw classifyModelError(reason)
  } finally {
    watch.close()
  }
}

async function readStream(
  attempt: StreamAnswerOptions,
  watch: AttemptWatch,
  collector: AnswerCollector,
): Promise<FinishPart> {
  const { stream } = await startStream(attempt, watch.signal)
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value: part } = await raceAbort(reader.read(), watch.signal)
      if (done) throw new ModelError({ kind: 'incomplete', message: UNFINISHED, retryable: true })
      if (part.type === 'error') throw classifyModelError(part.error)
      if (part.type === 'finish') return part
      watch.noteProgress({ hasContent: collector.take(part) })
    }
  } finally {
    // The cancellation closes the connection of providers that ignore their abort signal.
    reader.cancel().catch(() => undefined)
  }
}

async function startStream(
  { model, options }: StreamAnswerOptions,
  signal: AbortSignal,
): Promise<LanguageModelV4StreamResult> {
  signal.throwIfAborted()
  const start = model.doStream({ ...withOwnMemory(model, options), abortSignal: signal })
  try {
    return await raceAbort(start, signal)
  } catch (error) {
    // A provider that answers later must not keep its connection.
    void Promise.resolve(start)
      .then(({ stream }) => stream.cancel())
      .catch(() => undefined)
    throw error
  }
}

/**
 * By default OpenAI's responses keep reasoning at the provider and return only its id, which is valid for thirty days. A
 * thread lives longer and must not depend on it: the request asks for the encrypted reasoning itself, unless the options
 * choose otherwise.
 */
function withOwnMemory({ provider }: LanguageModel, options: ModelRequest): ModelRequest {
  if (!provider.endsWith('.responses')) return options
  // Azure's own options, if present, hide the options under the name of OpenAI.
  const name = provider.includes('azure') && options.providerOptions?.['azure'] ? 'azure' : 'openai'
  const given = options.providerOptions?.[name] ?? {}
  if (REMOTE_MEMORY.some((option) => given[option] != null)) return options
  return { ...options, providerOptions: { ...options.providerOptions, [name]: { ...given, store: false } } }
}

/** Options that choose the storage at the provider. */
const REMOTE_MEMORY = ['store', 'conversation', 'previousResponseId'] as const

/** The timers of one attempt and its caller's signal, joined in the one signal that the provider gets. */
interface AttemptWatch {
  /** Aborts with the caller's reason, or with a `stalled` ModelError. */
  readonly signal: AbortSignal
  /** Records that a chunk arrived. */
  noteProgress(chunk: { readonly hasContent: boolean }): void
  /** Stops the provider in any case. */
  abort(): void
  close(): void
}

/**
 * Watches an attempt from the moment of the request. Only content ends the wait for the first chunk, because a preamble
 * does not prove that the model works on a long prompt. Afterwards every chunk counts, because some providers send only
 * pings while they prepare long tool arguments.
 */
function watchAttempt(signal: AbortSignal, limits: ModelLimits): AttemptWatch {
  const controller = new AbortController()
  const onAbort = (): void => {
    controller.abort(signal.reason)
  }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  const failAfter = (milliseconds: number, what: string, retryable = false): NodeJS.Timeout =>
    setTimeout(() => {
      controller.abort(stalledError(`${what} within ${milliseconds / 1000} s.`, retryable))
    }, milliseconds)
  const total = failAfter(limits.total, 'The model did not finish its answer')
  let silence = failAfter(limits.firstChunk, 'The model did not begin its answer')
  let hasBegun = false
  return {
    signal: controller.signal,
    noteProgress({ hasContent }) {
      if (hasBegun) silence.refresh()
      else if (hasContent) {
        hasBegun = true
        clearTimeout(silence)
        // The model was at work, so a retry may succeed; a model that never began gets no retry.
        silence = failAfter(limits.stall, 'The model fell silent and did not go on', true)
      }
    },
    abort() {
      controller.abort()
    },
    close() {
      clearTimeout(total)
      clearTimeout(silence)
      signal.removeEventListener('abort', onAbort)
    },
  }
}

function stalledError(message: string, retryable: boolean): ModelError {
  return new ModelError({ kind: 'stalled', message, retryable })
}

/**
 * Settles as the promise, or rejects with the signal's reason as soon as it aborts: a provider that ignores its abort
 * signal cannot hang its caller. Each wait has a listener of its own, because a race against one long-lived promise keeps
 * every chunk of a stream in memory.
 */
function raceAbort<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort)
    }
    promise.then(
      (value) => {
        settle()
        resolve(value)
      },
      (error: unknown) => {
        settle()
        reject(error)
      },
    )
  })
}

/** The limits of one model call, in milliseconds and in bytes of UTF-8. */
export interface ModelLimits {
  /** All attempts of the call together. */
  readonly total: number
  /** From the request to the first chunk with content. */
  readonly firstChunk: number
  /** Between two chunks, after the first content. */
  readonly stall: number
  /** Text, reasoning and tool arguments together. */
  readonly answerBytes: number
}

/** The limits of production; tests use shorter ones. */
export const MODEL_LIMITS: ModelLimits = {
  total: LIMITS.modelCall,
  firstChunk: LIMITS.modelFirstChunk,
  stall: LIMITS.modelStall,
  answerBytes: LIMITS.answerBytes,
}
