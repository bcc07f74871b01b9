import type { CallModelInput, Frame } from '../../../protocol/activities.js'
import { activationSuffix, immediatesId } from '../../../protocol/ids.js'
import type { PlanContent, PromptContent, SubagentContent } from '../../../definitions/plan-content.js'
import { digestOf } from '../../../store/digest.js'
import type { HeldOperation } from '../model-step.js'

/** A prompt that becomes active, before its first step. */
export interface Activation {
  readonly input: ActivationInput
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
}

/** An activation that this attempt holds. */
export type HeldActivation = Activation & { readonly held: HeldOperation }

/**
 * As if it were a nested step of its own: its operation is another one than that of the step which follows (T4), and it
 * marks no phases of that step.
 */
export type ActivationInput = CallModelInput & { readonly frame: Frame }

/** Before one step several prompts may become active, one even twice: an agent hands over, a side is forced. */
export function activationInput(input: CallModelInput): ActivationInput {
  const key = `${input.side}${digestOf([input.agent]).slice(0, 8)}${activationSuffix(input.activations)}`
  return { ...input, frame: { callId: immediatesId(input, key), prompt: '', depth: 1 } }
}

/** A subagent that starts by itself, and the id of the call that does it. */
export interface Immediate {
  readonly callId: string
  readonly subagent: SubagentContent
}
