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
import { admission } from './admission.js'
import type { Answered } from './answer-facts.js'
import type { DeltaWriter } from './delta-writer.js'
import type { FailedModel } from './model-failure.js'
import type { BuiltRequest } from './build-request.js'
import type { ModelStep } from './model-step.js'
import { providedModel } from './provided-model.js'
import { startRequest } from './start-request.js'

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
      const request = { candidate, built, limits: { ...limits, total: Math.max(0, left()) } }
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
  readonly limits: ModelLimits
}

async function askModel(
  dependencies: ActivityDependencies,
  { step, deltas, signal }: Question,
  { candidate, built, limits }: Asked,
): Promise<Answered | ModelError> {
  let since = performance.now()
  let again = false
  const begin = async (): Promise<void> => {
    await startRequest(dependencies.store, step, { model: candidate.name, built, again })
    again = true
    deltas.begin(step.log.number)
    since = performance.now()
  }
  try {
    const { answer } = await callWithRetries({
      model: await languageModelOf(candidate, begin),
      options: built.options,
      signal,
      limits,
      admitted: admission(dependencies.registry, { step, provider: candidate.provider, signal }),
      onDelta: (delta) => deltas.add(delta),
      onAttempt: ({ error }) => (error === undefined ? begin() : step.log.failed(error)),
    })
    return { answer, milliseconds: Math.round(performance.now() - since) }
  } catch (error) {
    if (!ModelError.isInstance(error)) throw error
    if (step.log.open) step.log.failed(error)
    return error
  }
}

/** A model that its provider cannot give is a model that failed, not a worker. */
async function languageModelOf(
  candidate: ModelDefinition,
  begin: () => Promise<void>,
): Promise<LanguageModel> {
  try {
    return providedModel(candidate)
  } catch (error) {
    await begin()
    throw error
  }
}
