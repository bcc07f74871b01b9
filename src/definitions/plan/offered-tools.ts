/**
 * What a model is offered of the tools of its prompt.
 * Owns: when a flag of a subagent is on, and which tools follow from the subagents that are enabled.
 * Does not own: the values of flags (`activities/variables/`, `client/lists/thread-tools.ts`), and the lifecycle tools
 * themselves (`lifecycle-tools.ts`).
 * It loads neither zod nor definitions, so that clients can say what a model would be offered.
 */
import { lifecycleTools } from './lifecycle-tools.js'
import type { PromptContent, SubagentContent, ToolContent } from './plan-content.js'

const YES: ReadonlySet<string> = new Set(['true', '1', 'yes'])

/** Whether a flag is on. Standard Agents reads flags in any letter case and ignores surrounding blanks. */
export function isOn(value: string | undefined): boolean {
  return value !== undefined && YES.has(value.trim().toLowerCase())
}

/** The variables that enable subagents of a prompt, each once. */
export function flagsOf({ subagents }: Pick<PromptContent, 'subagents'>): readonly string[] {
  return [...new Set(Object.values(subagents).flatMap(({ optional }) => optional ?? []))]
}

/** The subagents of a prompt that may start, in the prompt's order: those without a flag, and those whose flag is on. */
export function enabledSubagents(
  { subagents }: Pick<PromptContent, 'subagents'>,
  isFlagOn: (flag: string) => boolean,
): readonly SubagentContent[] {
  return Object.values(subagents).filter(({ optional }) => optional === null || isFlagOn(optional))
}

/**
 * Returns the tools that a prompt may call while these subagents are enabled. Lifecycle tools call resumable subagents.
 */
export function listOfferedTools(
  { tools, subagents }: Pick<PromptContent, 'tools' | 'subagents'>,
  enabled: readonly SubagentContent[],
): readonly ToolContent[] {
  const names = new Set(enabled.map(({ agent }) => agent))
  const called = tools.filter(({ name }) => !Object.hasOwn(subagents, name) || names.has(name))
  return [...called, ...lifecycleTools(enabled.filter(({ resumable }) => resumable !== null))]
}
