import { listedTools } from '../../definitions/listed-tools.js'
import type { ListedTool } from '../../definitions/listed-tools.js'
import type { Registry } from '../../definitions/registry.js'
import type { VariableDefinition } from '../../definitions/variable.js'

const known = new WeakMap<Registry, Map<string, ReadonlySet<string>>>()

/**
 * The names that an agent's graph declares scoped: its prompts, their tools, and the agents that those start or hand over
 * to. A thread of that agent does not get them from its parent. None for an agent that this worker does not have.
 */
export function scopedNames(registry: Registry, agent: string): ReadonlySet<string> {
  const agents = known.get(registry) ?? new Map<string, ReadonlySet<string>>()
  known.set(registry, agents)
  const found = agents.get(agent) ?? collect(registry, agent)
  agents.set(agent, found)
  return found
}

function collect(registry: Registry, first: string): ReadonlySet<string> {
  const names = new Set<string>()
  const add = (variables: readonly VariableDefinition[] = []): void => {
    for (const { name, scoped } of variables) if (scoped === true) names.add(name)
  }
  const seen = new Set<string>()
  const prompts = promptsOf(registry, first)
  for (let name = prompts.shift(); name !== undefined; name = prompts.shift()) {
    const prompt = seen.has(name) ? undefined : registry.prompt(name)
    seen.add(name)
    if (prompt === undefined) continue
    add(prompt.variables)
    for (const tool of listedTools(registry, prompt)) {
      if (tool.kind === 'function') add(tool.tool.variables)
      else prompts.push(...promptsBehind(registry, tool))
    }
  }
  return names
}

function promptsBehind(
  registry: Registry,
  tool: Exclude<ListedTool, { readonly kind: 'function' }>,
): readonly string[] {
  return tool.kind === 'prompt' ? [tool.prompt.name] : promptsOf(registry, tool.agent.name)
}

function promptsOf(registry: Registry, agent: string): string[] {
  const { sideA, sideB } = registry.agent(agent) ?? {}
  return [sideA, sideB].flatMap((side) => (side === undefined ? [] : [side.prompt]))
}
