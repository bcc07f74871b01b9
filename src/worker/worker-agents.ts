import { findDeclaredType, findDefault, listScopedNames } from '../activities/variables/variables.js'
import { sideTools } from '../definitions/inventory.js'
import type { AgentInventory, Flag, SideInventory } from '../definitions/inventory.js'
import { requireDefinition } from '../definitions/known-definitions.js'
import { buildPlan } from '../definitions/plan/build-plan.js'
import { flagsOf, isOn } from '../definitions/plan/offered-tools.js'
import type { PlanContent } from '../definitions/plan/plan-content.js'
import type { Side } from '../protocol/plan.js'
import { nowMicros } from '../protocol/time.js'
import { withoutUndefined } from '../protocol/values.js'
import { putAgents } from '../store/agents.js'
import type { ThreadWorker } from './worker-options.js'

/** What a worker's agents, and the tools that their threads may call, depend on. */
type Described = Pick<
  ThreadWorker,
  'registry' | 'env' | 'permissions' | 'permissionMode' | 'policy' | 'approval'
>

/** Stores the agents that this worker runs with their tools, for the lists and inventories of clients. */
export async function listWorkerAgents({
  store,
  ...described
}: Described & Pick<ThreadWorker, 'store'>): Promise<void> {
  const listed = { agents: agentListing(described), now: nowMicros() }
  await store.write((tx) => putAgents(tx, listed))
}

/** The fields of an agent that clients see, as a row of the store's table. */
interface AgentListing {
  readonly name: string
  readonly type: 'ai_human' | 'dual_ai'
  readonly title: string | null
  readonly description: string | null
  readonly icon: string | null
  readonly expose_as_tool: boolean
  readonly inventory: AgentInventory
}

/** The agents of a registry, in its order. */
export function agentListing(described: Described): readonly AgentListing[] {
  const { registry } = described
  return registry.names().agents.map((name) => {
    const agent = requireDefinition(registry.agent(name), `agent '${name}'`)
    return {
      name,
      type: agent.type ?? 'ai_human',
      title: agent.title ?? null,
      description: agent.description ?? null,
      icon: agent.icon ?? null,
      expose_as_tool: agent.exposeAsTool === true,
      inventory: inventoryOf(described, name),
    }
  })
}

function inventoryOf(described: Described, agent: string): AgentInventory {
  const { registry, permissions, permissionMode, policy, approval } = described
  const content = buildPlan(registry, agent)
  if ('missing' in content) throw new Error(`Expected the agent ${agent} in the registry, found none.`)
  return {
    ...(content.permissions === undefined ? {} : { permissions: content.permissions }),
    worker: {
      ...withoutUndefined({ permissions, permissionMode, approval }),
      hasPolicy: policy !== undefined,
    },
    scoped: [...listScopedNames(registry, agent)],
    sides: { a: sideOf(described, content, 'a'), b: sideOf(described, content, 'b') },
  }
}

function sideOf(described: Described, content: PlanContent, side: Side): SideInventory | null {
  const tools = sideTools(described.registry, content, side)
  if (tools === null) return null
  const at = { content, prompt: tools.prompt }
  const flags = flagsOf(tools).map((name) => [name, flagOf(described, at, name)] as const)
  return { ...tools, flags: Object.fromEntries(flags) }
}

/** T5: a value of the worker may be a secret, so only whether it is on is recorded. */
function flagOf(described: Described, at: Parameters<typeof findDefault>[1], name: string): Flag {
  const found = findDefault(described, at, name)
  return {
    type: findDeclaredType(at, name) ?? null,
    isOn: found?.type === 'text' && isOn(found.open()),
  }
}
