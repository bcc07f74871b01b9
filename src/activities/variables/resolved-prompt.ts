import { enabledSubagents, flagsOf, isOn, listOfferedTools } from '../../definitions/plan/offered-tools.js'
import type {
  PlanContent,
  PromptContent,
  SubagentContent,
  SystemPart,
} from '../../definitions/plan/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import type { ActivityDependencies } from '../activity.js'
import { resolveVariables, listShownValues } from './variables.js'
import type { ResolvedVariable, VariableScope } from './variables.js'

/** Renders the system text of a prompt. Variables are resolved anew in each step. */
export async function withVariables<Prompt extends PromptContent & { readonly name: string }>(
  dependencies: ActivityDependencies,
  scope: Omit<VariableScope, 'prompt'>,
  prompt: Prompt,
): Promise<Prompt> {
  const names = prompt.system.flatMap((part) => (part.type === 'env' ? [part.property] : []))
  if (names.length === 0) return prompt
  const values = await resolveVariables(dependencies, { ...scope, prompt: prompt.name }, [...new Set(names)])
  return {
    ...prompt,
    system: [{ type: 'text', content: renderSystem(prompt.system, (name) => values.get(name)) }],
  }
}

/** Renders a system text. Secrets (T5) and names without a value are left out. */
function renderSystem(
  parts: readonly SystemPart[],
  resolve: (name: string) => ResolvedVariable | undefined,
): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.content
      const found = resolve(part.property)
      return found?.type === 'text' ? found.open() : ''
    })
    .join('')
}

/**
 * Returns the subagents of a prompt that its thread may start now, in the prompt's order: those without a flag, and those
 * whose flag is on. A flag that has no value or is a secret is off.
 */
export async function listEnabledSubagents(
  dependencies: ActivityDependencies,
  scope: Omit<VariableScope, 'prompt'>,
  prompt: Pick<PromptContent, 'subagents'> & { readonly name: string },
): Promise<readonly SubagentContent[]> {
  const values = await listShownValues(dependencies, { ...scope, prompt: prompt.name }, flagsOf(prompt))
  return enabledSubagents(prompt, (flag) => isOn(values.get(flag)))
}

/** The prompt that made a call. */
export interface ActivePrompt {
  readonly input: Pick<CallInput, 'threadId' | 'agent'>
  readonly content: PlanContent
  readonly prompt: PromptContent & { readonly name: string }
}

/** Returns the scope in which the prompt's variables are resolved. */
export function scopeOf({ input, content, prompt }: ActivePrompt): VariableScope {
  return { threadId: input.threadId, agent: input.agent, content, prompt: prompt.name }
}

/** Returns the subagents that are enabled now: a model may call one that an earlier step offered (SA-R-07.3a). */
export async function listEnabledNow(
  dependencies: ActivityDependencies,
  active: ActivePrompt,
): Promise<readonly SubagentContent[]> {
  return listEnabledSubagents(dependencies, scopeOf(active), active.prompt)
}

/** The refusal of a subagent that is not enabled, as text for the model. */
export function notEnabled(agent: string): readonly [reason: string, errorCode: string] {
  return [`The agent "${agent}" is not enabled here, so it cannot be called.`, 'not_enabled']
}

/** Returns the prompt with the tools that it may call now. Flags are read anew in each step. */
export async function withOfferedTools<Prompt extends PromptContent & { readonly name: string }>(
  dependencies: ActivityDependencies,
  scope: Omit<VariableScope, 'prompt'>,
  prompt: Prompt,
): Promise<Prompt> {
  if (Object.keys(prompt.subagents).length === 0) return prompt
  const enabled = await listEnabledSubagents(dependencies, scope, prompt)
  return { ...prompt, tools: listOfferedTools(prompt, enabled) }
}
