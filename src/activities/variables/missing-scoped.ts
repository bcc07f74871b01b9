import type { ActivityDependencies } from '../dependencies.js'
import { agentGraph } from './agent-graph.js'
import type { RequiredVariables } from './missing-variables.js'
import { graphValues, ownValue } from './resolve-variables.js'

interface NewSubagent {
  /** The parent's. */
  readonly threadId: string
  readonly agent: string
  /** What the parent hands over. */
  readonly given: ReadonlySet<string>
}

/**
 * What a new subagent cannot run without and does not get from its parent: variables that its graph declares scoped and
 * required, anywhere below it. Values of the worker, of its agents and prompts count.
 */
export async function missingScoped(
  { registry, store, env }: ActivityDependencies,
  { threadId, agent, given }: NewSubagent,
): Promise<RequiredVariables> {
  const needs = agentGraph(registry, agent).flatMap((at) =>
    at.prompt.variables.flatMap(({ name, required, scoped }) =>
      required && scoped ? [{ ...at, name }] : [],
    ),
  )
  const required = [...new Set(needs.map(({ name }) => name))]
  if (required.length === 0) return { required, missing: [] }
  const handed = await store.read((db) => graphValues(db, threadId, required))
  const lacking = needs.filter(
    ({ name, env: ofAgent, prompt }) =>
      !given.has(name) &&
      !handed.has(name) &&
      [env, ofAgent, prompt.env].every((values) => ownValue(values, name) === undefined),
  )
  return { required, missing: [...new Set(lacking.map(({ name }) => name))] }
}
