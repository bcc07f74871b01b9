import { buildPlan } from '../../definitions/build-plan.js'
import type { PromptContent } from '../../definitions/plan-content.js'
import type { Registry } from '../../definitions/registry.js'

/** A prompt of the graph, as this agent runs it. */
export interface GraphPrompt {
  readonly agent: string
  /** Of the agent. */
  readonly env: Readonly<Record<string, string>>
  readonly prompt: PromptContent
}

const known = new WeakMap<Registry, Map<string, readonly GraphPrompt[]>>()

/**
 * All prompts that a thread of this agent may come to run, itself or in threads below it: its own, those they reach as
 * tools, and those of the agents that they start or hand over to. Agents that this worker does not have are left out.
 */
export function agentGraph(registry: Registry, agent: string): readonly GraphPrompt[] {
  const graphs = known.get(registry) ?? new Map<string, readonly GraphPrompt[]>()
  known.set(registry, graphs)
  const graph = graphs.get(agent) ?? collect(registry, agent)
  graphs.set(agent, graph)
  return graph
}

function collect(registry: Registry, first: string): readonly GraphPrompt[] {
  const graph: GraphPrompt[] = []
  // A set goes on to what is added to it meanwhile.
  const agents = new Set([first])
  for (const agent of agents) {
    const content = buildPlan(registry, agent)
    if ('missing' in content) continue
    for (const prompt of Object.values(content.prompts)) {
      graph.push({ agent, env: content.env, prompt })
      const { subagents, handoffs } = prompt
      for (const below of [...Object.values(subagents), ...Object.values(handoffs)]) agents.add(below.agent)
    }
  }
  return graph
}
