import type { Usage } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { StopReason } from '../../protocol/status.js'
import type { ModelError } from '../../model/model-error.js'
import type { ModelAnswer } from '../../model/model-answer.js'
import { stepScope } from './model-step.js'
import { failureId } from './record-failures.js'
import type { ModelStep } from './model-step.js'

export interface Answered {
  readonly answer: ModelAnswer
  /** From the request that was answered to its last byte. */
  readonly milliseconds: number
}

export function completedFact(step: ModelStep, { answer, milliseconds }: Answered, usage: Usage): Fact {
  const payload = {
    model: step.log.model,
    attempt: step.log.number,
    usage: { ...usage },
    finishReason: answer.finishReason,
    milliseconds,
    ...(answer.metadataLeftOut === 0 ? {} : { metadataLeftOut: answer.metadataLeftOut }),
  }
  return { type: 'model.completed', scope: step.scope, payload }
}

/** The newest request failed, and what follows it; a failure of the provider's has words in the store. */
export function failedFact(
  step: ModelStep,
  { kind }: Pick<ModelError, 'kind'> | { readonly kind: 'interrupted' },
  next: 'retry' | 'fallback' | 'wait' | 'none',
): Fact {
  const { scope, log } = step
  const words = kind === 'interrupted' ? {} : { errorId: failureId(step, log.number) }
  return {
    type: 'model.failed',
    scope,
    payload: { model: log.model, attempt: log.number, error: kind, next, ...words },
  }
}

/** The marks of the phases up to the persisted answer that are not there yet; a nested step has none. */
export function phasesToAnswer({ input, log, resumed }: ModelStep): readonly Fact[] {
  if (input.frame !== null) return []
  const scope = stepScope(input)
  const started = resumed || log.number > 0
  return ([2, 3, 4] as const)
    .filter((phase) => phase === 4 || !started)
    .map((phase) => phaseFact(phase, scope))
}

/** A step that ends with its model call still gets all of its events, and so does its turn; a nested one has neither. */
export function lastFacts({ input }: Pick<ModelStep, 'input'>, reason: StopReason): readonly Fact[] {
  if (input.frame !== null) return []
  const scope = stepScope(input)
  const { side, step: number } = input
  return [
    ...([5, 6, 7] as const).map((phase) => phaseFact(phase, scope)),
    { type: 'step.completed', scope, payload: { step: number, reason } },
    { type: 'side.completed', scope, payload: { side, reason } },
  ]
}
