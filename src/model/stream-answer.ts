import { AnswerCollector, usageOf } from './answer-collector.js'
import { watchAttempt } from './attempt-watch.js'
import { classifyModelError } from './classify-model-error.js'
import { ModelAbortedError } from './model-aborted-error.js'
import { ModelError } from './model-error.js'
import { MODEL_LIMITS } from './model-limits.js'
import { raceAbort } from './race-abort.js'

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider'
import type { AttemptWatch } from './attempt-watch.js'
import type { LanguageModel } from './language-model.js'
import type { AnswerDelta, ModelAnswer, ModelUsage } from './model-answer.js'
import type { ModelLimits } from './model-limits.js'

/** What is asked of the model; its abort signal is ours to give. */
export type ModelRequest = Omit<LanguageModelV4CallOptions, 'abortSignal'>

export interface StreamAnswerOptions {
  readonly model: LanguageModel
  readonly options: ModelRequest
  /** The caller's own stop. */
  readonly signal: AbortSignal
  /** @default MODEL_LIMITS */
  readonly limits?: ModelLimits
  /** Called at once with each piece; must not throw. */
  readonly onDelta: (delta: AnswerDelta) => void
}

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/**
 * One attempt at an answer, bounded in time and size. Only a stream that the provider itself called finished
 * becomes an answer; an empty answer is one too.
 * @throws ModelError for everything that is the provider's, `stalled` and `too_large` included.
 * @throws ModelAbortedError with the partial text when the caller's signal aborts.
 */
export async function streamAnswer(attempt: StreamAnswerOptions): Promise<ModelAnswer> {
  const { signal, limits = MODEL_LIMITS, onDelta } = attempt
  const collector = new AnswerCollector({ answerBytes: limits.answerBytes, onDelta })
  const watch = watchAttempt(signal, limits)
  try {
    const finish = await readStream(attempt, watch, collector)
    const problem = finishProblem(finish)
    if (problem) throw problem
    return collector.answer(finish)
  } catch (error) {
    // Read before our own abort of the provider, whose signal would hide the reason.
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
      if (done) throw incomplete('The stream of the answer ended before it was finished.')
      if (part.type === 'error') throw classifyModelError(part.error)
      if (part.type === 'finish') return part
      watch.progressed({ hasContent: collector.take(part) })
    }
  } finally {
    // Reaches the connection of providers that do not look at their abort signal.
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
    // A provider that answers after all must not keep its connection.
    void Promise.resolve(start)
      .then(({ stream }) => stream.cancel())
      .catch(() => undefined)
    throw error
  }
}

/**
 * OpenAI's responses keep reasoning at the provider by default and give an id for it, which holds for thirty days. A thread lives
 * longer, and its store is its memory: the reasoning is asked for itself, sealed, unless the options say something else.
 */
function withOwnMemory({ provider }: LanguageModel, options: ModelRequest): ModelRequest {
  if (!provider.endsWith('.responses')) return options
  // Azure's own options, where there are any, hide those under the name of OpenAI.
  const name = provider.includes('azure') && options.providerOptions?.['azure'] ? 'azure' : 'openai'
  const given = options.providerOptions?.[name] ?? {}
  if (REMOTE_MEMORY.some((option) => given[option] != null)) return options
  return { ...options, providerOptions: { ...options.providerOptions, [name]: { ...given, store: false } } }
}

/** Options that say where the provider remembers. */
const REMOTE_MEMORY = ['store', 'conversation', 'previousResponseId'] as const

/** Some provider libraries end a cut stream with a finish part: `interrupted`, or `other` without a raw reason. */
function finishProblem({ finishReason, usage }: FinishPart): ModelError | undefined {
  const { unified, raw } = finishReason
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined)) {
    return incomplete('The provider cut its answer before the end.', usageOf(usage))
  }
  if (unified === 'error') return incomplete('The provider ended its answer with an error.', usageOf(usage))
  if (unified === 'content-filter') {
    // Words that came before the filter cut in are no answer either: another model may give a whole one.
    const message = 'The content filter of the provider withheld the answer, or the rest of it.'
    return new ModelError({ kind: 'content_filter', message, retryable: false, usage: usageOf(usage) })
  }
  return undefined
}

function incomplete(message: string, usage: ModelUsage | null = null): ModelError {
  return new ModelError({ kind: 'incomplete', message, retryable: true, usage })
}
