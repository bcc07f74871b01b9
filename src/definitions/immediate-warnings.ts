import type { AgentDefinition } from './agent.js'
import type { KnownDefinitions } from './known-definitions.js'
import type { PromptDefinition, ToolEntry } from './prompt.js'

/** Says where a subagent that starts by itself is told less, or more, than it has a use for. */
export function immediateWarnings(
  owner: string,
  entry: ToolEntry,
  known: KnownDefinitions,
): readonly string[] {
  if (typeof entry === 'string' || !('immediate' in entry)) return []
  const { name, immediate, resumable } = entry
  const agent = known.agents.get(name)
  if (immediate === undefined || immediate === false || agent === undefined) return []
  const start = `${owner} starts the subagent '${name}' by itself`
  const hints = immediate === true ? {} : immediate
  const hinted = hints.nameEnv !== undefined || hints.descriptionEnv !== undefined
  const { takes, needs } = argumentsOf(agent, known)
  if (!hinted && needs)
    return [
      `${start} with arguments of which nothing is known: a model has to make them up, and without one it does not start. Name immediate.descriptionEnv, or give each argument a default`,
    ]
  const stays = resumable !== undefined && resumable !== false
  if (hinted && !stays && !takes)
    return [
      `${start} with hints that nothing reads, for it has neither arguments nor is it resumable: give prompt '${agent.sideA.prompt}' a requiredSchema, or leave out nameEnv and descriptionEnv`,
    ]
  return []
}

/** Whether the subagent has arguments, and one that has no default. */
function argumentsOf(
  { sideA }: AgentDefinition,
  { prompts }: Pick<KnownDefinitions, 'prompts'>,
): { readonly takes: boolean; readonly needs: boolean } {
  const schema: PromptDefinition['requiredSchema'] = prompts.get(sideA.prompt)?.requiredSchema
  if (schema === undefined) return { takes: false, needs: false }
  return { takes: Object.keys(schema.shape).length > 0, needs: !schema.safeParse({}).success }
}
