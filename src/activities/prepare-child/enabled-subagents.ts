import type { PlanContent, PromptContent, SubagentContent } from '../../definitions/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import type { ActivityDependencies } from '../dependencies.js'
import { isEnabled } from '../variables/is-enabled.js'
import type { VariableScope } from '../variables/resolve-variables.js'

/** Whose call it is. */
export interface ActivePrompt {
  readonly input: Pick<CallInput, 'threadId' | 'agent'>
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
}

/** In which variables of the prompt are looked up. */
export function scopeOf({ input, content, prompt }: ActivePrompt): VariableScope {
  return { threadId: input.threadId, agent: input.agent, content, prompt: prompt.name }
}

/** The prompt's subagents whose flags are on, looked at anew: a model may call what it was offered before (SA-R-07.3a). */
export async function enabledSubagents(
  dependencies: ActivityDependencies,
  active: ActivePrompt,
): Promise<readonly SubagentContent[]> {
  const enabled: SubagentContent[] = []
  for (const subagent of Object.values(active.prompt.subagents))
    if (await isEnabled(dependencies, scopeOf(active), subagent.optional)) enabled.push(subagent)
  return enabled
}
