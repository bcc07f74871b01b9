/**
 * Phase 3: the prompt's model, then its fallbacks, until one answers. A stop ends all of it at once; a context that is
 * too long is cut and asked again, which is no attempt.
 */
import { callWithRetries } from '../../model/call-model.js'
import { ModelError } from '../../model/model-error.js'
import type { LanguageModel } from '../../model/language-model.js'
import { MODEL_LIMITS } from '../../model/model-limits.js'
import type { ModelLimits } from '../../model/model-limits.js'
import type { ModelDefinition } from '../../definitions/model.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ActivityDependencies } from '../dependencies.js'
import { withinRequest } from '../watched-model.js'
import { admission } from './admission.js'
import { patienceOf } from './provider-patience.js'
import type { Answered } from './answer-facts.js'
import type { DeltaWriter } from './delta-writer.js'
import type { FailedModel } from './model-failure.js'
import type { BuiltRequest } from './build-request.js'
import type { ModelStep } from './model-step.js'
import { providedModel } from './provided-model.js'
import { recordRequests } from './record-requests.js'
import type { RecordedRequests } from './record-requests.js'

/** Milliseconds: a timer may ring a little before its time, and nobody answers in so few. */
const TIMER_SLACK = 5

export interface Question {
  readonly step: ModelStep
  /** At least one. */
  readonly candidates: readonly ModelDefinition[]
  /** The request to a model, its context cut that many times more than usual. */
  readonly build: (model: string, cuts: number) => Promise<BuiltRequest>
  readonly deltas: DeltaWriter
  readonly signal: AbortSignal
}

export type Reply = Answered | { readonly failures: readonly FailedModel[] }

/** @throws ModelAbortedError when the signal aborts, at whatever moment */
export async function askModels(dependencies: ActivityDependencies, question: Question): Promise<Reply> {
  const { modelLimits: limits = MODEL_LIMITS } = dependencies
  const deadline = performance.now() + limits.total
  const left = (): number => deadline - performance.now()
  const failures: FailedModel[] = []
  let cuts = 0
  for (const candidate of question.candidates) {
    const reply = await asked(candidate)
    if (!ModelError.isInstance(reply)) return reply
    failures.push({ model: candidate.name, error: reply })
    if (left() <= TIMER_SLACK) break
  }
  return { failures }

  async function asked(candidate: ModelDefinition): Promise<Answered | ModelError> {
    for (;;) {
      const built = await question.build(candidate.name, cuts)
      const hasFallback = candidate !== question.candidates.at(-1)
      const request = { candidate, built, hasFallback, limits: { ...limits, total: Math.max(0, left()) } }
      const reply = await askModel(dependencies, question, request)
      const tooLong = ModelError.isInstance(reply) && reply.kind === 'context_too_long'
      if (!tooLong || cuts >= LIMITS.contextCuts || left() <= 0) return reply
      cuts += 1
    }
  }
}

interface Asked {
  readonly candidate: ModelDefinition
  readonly built: BuiltRequest
  readonly hasFallback: boolean
  readonly limits: ModelLimits
}

async function askModel(
  dependencies: ActivityDependencies,
  question: Question,
  { candidate, built, hasFallback, limits }: Asked,
): Promise<Answered | ModelError> {
  const { step, deltas, signal } = question
  const requests = recordRequests(dependencies.store, question, { candidate, built })
  const { watch } = requests
  try {
    const model = await languageModelOf(candidate, requests)
    const { answer } = await callWithRetries({
      model: withinRequest(model, watch),
      options: built.options,
      signal,
      limits,
      admission: admission(dependencies.registry, { step, model: candidate, signal }),
      hasFallback,
      patience: patienceOf(step),
      onDelta: (delta) => {
        watch.token()
        deltas.add(delta)
      },
      onAttempt: ({ error }) => (error === undefined ? requests.begin(model) : requests.failed(error)),
    })
    return requests.answered(answer)
  } catch (error) {
    if (ModelError.isInstance(error)) requests.failed(error)
    else requests.cut(error)
    if (!ModelError.isInstance(error)) throw error
    return error
  }
}

/** A model that its provider cannot give is a model that failed, not a worker. */
async function languageModelOf(
  candidate: ModelDefinition,
  requests: RecordedRequests,
): Promise<LanguageModel> {
  try {
    return providedModel(candidate)
  } catch (error) {
    await requests.begin(null)
    throw error
  }
}
