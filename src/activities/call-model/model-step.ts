import type { CallModelInput } from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import { modelOperationId, runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'

/** A model call that this attempt holds. */
export interface ModelStep {
  readonly input: CallModelInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
  readonly operationId: string
  readonly attempt: number
  /** The assistant message that the answer will become. */
  readonly messageId: string
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
}

export function stepScope({ run, step }: { readonly run: number; readonly step: number }): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step) }
}

export function operationOf(input: CallModelInput): { readonly threadId: string; readonly id: string } {
  return { threadId: input.threadId, id: modelOperationId(input.run, input.step) }
}

/** Microseconds, as all times in the store. */
export function microseconds(input: { readonly now: number }): number {
  return input.now * 1000
}

/** Requests of a step are numbered over all attempts of its activity: a subscriber drops what a lower one streamed. */
export function requestNumber(attempt: number, request: number): number {
  return (attempt - 1) * LIMITS.modelAttempts + request
}
