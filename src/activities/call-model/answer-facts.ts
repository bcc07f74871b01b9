import type { Usage } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { StopReason } from '../../protocol/status.js'
import type { ModelError } from '../../model/model-error.js'
import type { ModelAnswer } from '../../model/model-answer.js'
import { requestNumber, stepScope } from './model-step.js'
import type { ModelStep } from './model-step.js'

export interface Answered {
  readonly answer: ModelAnswer
  readonly milliseconds: number
  /** Which request of this attempt was answered, from 1. */
  readonly request: number
}

export function completedFact(
  step: ModelStep,
  { answer, milliseconds, request }: Answered,
  usage: Usage,
): Fact {
  const payload = {
    model: step.prompt.model,
    attempt: requestNumber(step.attempt, request),
    usage: { ...usage },
    finishReason: answer.finishReason,
    milliseconds,
  }
  return { type: 'model.completed', scope: step.scope, payload }
}

export function interruptedFact(step: ModelStep, request: number): Fact {
  const payload = {
    model: step.prompt.model,
    attempt: requestNumber(step.attempt, request),
    error: 'interrupted',
    next: 'none',
  }
  return { type: 'model.failed', scope: step.scope, payload }
}

/** A step that ends with its model call still gets all of its events, and so does its turn. */
export function lastFacts(step: Pick<ModelStep, 'input'>, reason: StopReason): readonly Fact[] {
  const scope = stepScope(step.input)
  const { side, step: number } = step.input
  return [
    ...([5, 6, 7] as const).map((phase) => phaseFact(phase, scope)),
    { type: 'step.completed', scope, payload: { step: number, reason } },
    { type: 'side.completed', scope, payload: { side, reason } },
  ]
}

interface FailedRequest {
  readonly request: number
  readonly error: ModelError
  readonly next: 'retry' | 'none'
}

/** A request failed, and what follows it. */
export function failedFact(step: ModelStep, { request, error, next }: FailedRequest): Fact {
  const attempt = requestNumber(step.attempt, request)
  return {
    type: 'model.failed',
    scope: step.scope,
    payload: { model: step.prompt.model, attempt, error: error.kind, next },
  }
}
