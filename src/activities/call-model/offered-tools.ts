import { lifecycleTools } from '../../definitions/lifecycle-tools.js'
import type { PromptContent, SubagentContent, ToolContent } from '../../definitions/plan-content.js'
import type { ActivityDependencies } from '../dependencies.js'
import { enabledSubagents } from '../variables/enabled-subagents.js'
import type { VariableScope } from '../variables/resolve-variables.js'

/** What a prompt may call while these of its subagents are enabled; the resumable ones by the lifecycle tools. */
export function offeredTools(
  { tools, subagents }: Pick<PromptContent, 'tools' | 'subagents'>,
  enabled: readonly SubagentContent[],
): readonly ToolContent[] {
  const names = new Set(enabled.map(({ agent }) => agent))
  const called = tools.filter(({ name }) => !Object.hasOwn(subagents, name) || names.has(name))
  return [...called, ...lifecycleTools(enabled.filter(({ resumable }) => resumable !== null))]
}

/** The same prompt with what it may call at this moment: flags are looked at anew in each step. */
export async function withOfferedTools<Prompt extends PromptContent & { readonly name: string }>(
  dependencies: ActivityDependencies,
  scope: Omit<VariableScope, 'prompt'>,
  prompt: Prompt,
): Promise<Prompt> {
  if (Object.keys(prompt.subagents).length === 0) return prompt
  const enabled = await enabledSubagents(dependencies, scope, prompt)
  return { ...prompt, tools: offeredTools(prompt, enabled) }
}
