import type { PlanContent, PromptContent, SubagentContent } from '../../definitions/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import type { ActivityDependencies } from '../dependencies.js'
import { enabledSubagents } from './enabled-subagents.js'
import type { VariableScope } from './resolve-variables.js'

/** Whose call it is. */
export interface ActivePrompt {
  readonly input: Pick<CallInput, 'threadId' | 'agent'>
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
}

/** Where the variables of the prompt are looked up. */
export function scopeOf({ input, content, prompt }: ActivePrompt): VariableScope {
  return { threadId: input.threadId, agent: input.agent, content, prompt: prompt.name }
}

/** The flags are looked at anew: a model may call what it was offered before (SA-R-07.3a). */
export async function enabledNow(
  dependencies: ActivityDependencies,
  active: ActivePrompt,
): Promise<readonly SubagentContent[]> {
  return enabledSubagents(dependencies, scopeOf(active), active.prompt)
}

/** In words for the model. */
export function notEnabled(agent: string): readonly [reason: string, errorCode: string] {
  return [`The agent "${agent}" is not enabled here, so it cannot be called.`, 'not_enabled']
}
