import type { Registry } from '../../definitions/registry.js'
import { agentGraph } from './agent-graph.js'

/** The names that an agent's graph declares scoped: a thread of that agent does not get them from its parent. */
export function scopedNames(registry: Registry, agent: string): ReadonlySet<string> {
  const variables = agentGraph(registry, agent).flatMap(({ prompt }) => prompt.variables)
  return new Set(variables.flatMap(({ name, scoped }) => (scoped === true ? [name] : [])))
}
