import type { PromptDefinition } from './prompt.js'

/** A variable whose value decides or says something where a prompt lists a subagent. */
export interface EntryVariable {
  /** The subagent. */
  readonly agent: string
  readonly field: 'optional' | 'immediate.nameEnv' | 'immediate.descriptionEnv'
  readonly name: string
}

/** Those of a prompt's entries whose values are read by the runtime. */
export function entryVariables({ tools = [] }: PromptDefinition): readonly EntryVariable[] {
  return tools.flatMap((entry) => {
    if (typeof entry === 'string' || !('optional' in entry || 'immediate' in entry)) return []
    const { name: agent, optional, immediate } = entry
    const hints = typeof immediate === 'object' ? immediate : {}
    const read = [
      ['optional', optional],
      ['immediate.nameEnv', hints.nameEnv],
      ['immediate.descriptionEnv', hints.descriptionEnv],
    ] as const
    return read.flatMap(([field, name]) => (name === undefined ? [] : [{ agent, field, name }]))
  })
}

/** Those that a prompt's entries hand on, by the names of their subagents. */
export function scopedVariables({ tools = [] }: PromptDefinition): readonly Omit<EntryVariable, 'field'>[] {
  return tools.flatMap((entry) => {
    const immediate = typeof entry === 'string' || !('immediate' in entry) ? undefined : entry.immediate
    if (typeof entry === 'string' || typeof immediate !== 'object') return []
    return (immediate.scopedEnv ?? []).map((name) => ({ agent: entry.name, name }))
  })
}
