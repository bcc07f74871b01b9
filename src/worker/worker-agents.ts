import { requireDefinition } from '../definitions/known-definitions.js'
import type { Registry } from '../definitions/known-definitions.js'
import { putAgents } from '../store/agents.js'
import type { Store } from '../store/store.js'
import { nowMicros } from '../protocol/time.js'

/** Stores the agents that this worker runs, for the lists of clients. */
export async function listWorkerAgents(store: Store, registry: Registry): Promise<void> {
  const listed = { agents: agentListing(registry), now: nowMicros() }
  await store.write((tx) => putAgents(tx, listed))
}

/** The fields of an agent that lists show, as a row of the store's table. */
interface AgentListing {
  readonly name: string
  readonly type: 'ai_human' | 'dual_ai'
  readonly title: string | null
  readonly description: string | null
  readonly icon: string | null
  readonly expose_as_tool: 0 | 1
}

/** The agents of a registry, in its order. */
export function agentListing(registry: Registry): readonly AgentListing[] {
  return registry.names().agents.map((name) => {
    const agent = requireDefinition(registry.agent(name), `agent '${name}'`)
    return {
      name,
      type: agent.type ?? 'ai_human',
      title: agent.title ?? null,
      description: agent.description ?? null,
      icon: agent.icon ?? null,
      expose_as_tool: agent.exposeAsTool === true ? 1 : 0,
    }
  })
}
