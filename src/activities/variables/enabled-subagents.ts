import type { PromptContent, SubagentContent } from '../../definitions/plan-content.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { VariableScope } from './resolve-variables.js'
import { shownValues } from './shown-values.js'

const YES: ReadonlySet<string> = new Set(['true', '1', 'yes'])

/**
 * The subagents of a prompt that its thread may start now, in the order of the prompt: those without a flag, and those
 * whose flag is on. A flag that has no value, or whose value is a secret, is off.
 */
export async function enabledSubagents(
  dependencies: ActivityDependencies,
  scope: Omit<VariableScope, 'prompt'>,
  prompt: Pick<PromptContent, 'subagents'> & { readonly name: string },
): Promise<readonly SubagentContent[]> {
  const subagents = Object.values(prompt.subagents)
  const flags = subagents.flatMap(({ optional }) => optional ?? [])
  const values = await shownValues(dependencies, { ...scope, prompt: prompt.name }, flags)
  return subagents.filter(({ optional }) => optional === null || isOn(values.get(optional)))
}

/** As Standard Agents has it: in any case, and whatever blanks are around it. */
function isOn(value: string | undefined): boolean {
  return value !== undefined && YES.has(value.trim().toLowerCase())
}
