import type { SubagentContent } from '../../definitions/plan-content.js'
import { findMessage } from '../../store/read-messages.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { scopeOf } from '../variables/active-scope.js'
import type { ActivePrompt } from '../variables/active-scope.js'
import { agentGraph } from '../variables/agent-graph.js'
import { resolveVariables } from '../variables/resolve-variables.js'

/** A value that a child gets as its own. */
export interface GivenVariable {
  readonly name: string
  readonly value: string
  readonly type: 'text' | 'secret'
}

/**
 * What the parent hands to a subagent that starts with its prompt: the values of `scopedEnv` that are there. A sentence
 * where a secret among them cannot be kept.
 */
export async function givenVariables(
  dependencies: ActivityDependencies,
  { input, row }: HeldCall,
  asking: ActivePrompt & { readonly binding: SubagentContent },
): Promise<readonly GivenVariable[] | string> {
  const { store, registry } = dependencies
  const { agent, immediate } = asking.binding
  if (immediate === null || immediate.scopedEnv.length === 0) return []
  // One that a model calls is a call like any other.
  const holder = await store.read((db) => findMessage(db, input.threadId, row.message_id))
  if (holder?.metadata?.['immediate'] !== true) return []
  const values = await resolveVariables(dependencies, scopeOf(asking), immediate.scopedEnv)
  const secrets = secretNames(registry, agent)
  const given = [...values].map(([name, { type, open }]): GivenVariable => {
    return { name, value: open(), type: secrets.has(name) ? 'secret' : type }
  })
  const sealed = given.find(({ type }) => type === 'secret')
  if (sealed === undefined || store.secrets.keyIds.length > 0) return given
  return `The subagent "${agent}" is to be given the secret ${sealed.name}, and this worker has no EVERTHREAD_SECRET_KEY.`
}

/** Names that the child's graph declares secrets. */
function secretNames(registry: ActivityDependencies['registry'], agent: string): ReadonlySet<string> {
  const variables = agentGraph(registry, agent).flatMap(({ prompt }) => prompt.variables)
  return new Set(variables.flatMap(({ name, type }) => (type === 'secret' ? [name] : [])))
}
