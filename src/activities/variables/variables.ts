/**
 * Resolves the variables of one thread: its own value, else that of its parents unless a graph on the way down scopes
 * the name, else that of the worker, the agent or the prompt.
 * Owns: this order, which names agent graphs declare as scoped or secret, and which required variables are missing.
 * Does not own: storing and sealing values, and the way up to the parents' (`store/threads/variables.ts`).
 * Values of parents are looked up at each read and never copied. A value that a thread got at its start holds for its
 * whole graph, including subagents that scope the name.
 */

import type { VariableDefinition } from '../../definitions/agent.js'
import type { Registry } from '../../definitions/known-definitions.js'
import { buildPlan } from '../../definitions/plan/build-plan.js'
import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Reader } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { findInherited, findVariables, openVariable } from '../../store/threads/variables.js'
import type { ActivityDependencies } from '../activity.js'

type VariableType = VariableDefinition['type']

/** The thread, agent and prompt for which variables are resolved. */
export interface VariableScope {
  readonly threadId: string
  /** The active agent, and the plan of its run; null where no worker has the agent. */
  readonly agent: string
  readonly content: PlanContent | null
  /** The active prompt; null: that of side A. */
  readonly prompt: string | null
}

/** A variable that has a value. */
export interface ResolvedVariable {
  readonly type: VariableType
  /** @throws StoreError `no_key`, `corrupt` */
  readonly open: () => string
}

/** Resolves the names; names without a value are left out. */
export async function resolveVariables(
  dependencies: ActivityDependencies,
  scope: VariableScope,
  names: readonly string[],
): Promise<ReadonlyMap<string, ResolvedVariable>> {
  const resolved = new Map<string, ResolvedVariable>()
  if (names.length === 0) return resolved
  const { store, registry } = dependencies
  const { threadId, agent } = scope
  const scopedNames = (above: string) => listScopedNames(registry, above)
  const stored = await store.read((db) => findInherited(db, { threadId, agent, names, scopedNames }))
  for (const name of names) {
    const record = stored.get(name)
    const found =
      record === undefined
        ? findDefault(dependencies, scope, name)
        : {
            type: findDeclaredType(scope, name) ?? record.type,
            open: () => openVariable(store.secrets, record),
          }
    if (found !== undefined) resolved.set(name, found)
  }
  return resolved
}

/** Returns the declared type of a name in the prompts; one declaration as a secret makes it a secret. */
export function findDeclaredType(
  { content }: Pick<VariableScope, 'content'>,
  name: string,
): VariableType | undefined {
  const declared = Object.values(content?.prompts ?? {}).flatMap(({ variables }) =>
    variables.flatMap((variable) => (variable.name === name ? [variable.type] : [])),
  )
  return declared.includes('secret') ? 'secret' : declared[0]
}

/** Returns the names whose values this thread, or one above it, got at its start for its whole graph. */
async function graphValues(
  db: Reader,
  threadId: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  let above: string | null = threadId
  for (let depth = 0; above !== null && depth <= LIMITS.childDepth; depth += 1) {
    for (const record of await findVariables(db, above, names))
      if (record.for_graph === 1) found.add(record.name)
    above = (await findThread(db, above))?.parent_thread_id ?? null
  }
  return found
}

/**
 * Finds a value of the worker, the agent or the prompt. Values in definitions are stored in plain text, so they are not
 * secrets.
 */
export function findDefault(
  { env }: Pick<ActivityDependencies, 'env'>,
  scope: Pick<VariableScope, 'content' | 'prompt'>,
  name: string,
): ResolvedVariable | undefined {
  const { content } = scope
  const instance = ownValue(env, name)
  const prompt = scope.prompt ?? content?.plan.sides.a.prompt ?? ''
  const defined = ownValue(content?.env, name) ?? ownValue(content?.prompts[prompt]?.env, name)
  const value = instance ?? defined
  if (value === undefined) return undefined
  const undeclared = instance === undefined ? 'text' : 'secret'
  return { type: findDeclaredType(scope, name) ?? undeclared, open: () => value }
}

/** Reads own properties only, because a variable may be named `constructor`. */
function ownValue(values: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return values !== undefined && Object.hasOwn(values, name) ? values[name] : undefined
}

/** Returns the names that an agent's graph declares as scoped: its threads do not inherit them from their parents. */
export function listScopedNames(registry: Registry, agent: string): ReadonlySet<string> {
  const variables = agentGraph(registry, agent).flatMap(({ prompt }) => prompt.variables)
  return new Set(variables.flatMap(({ name, scoped }) => (scoped === true ? [name] : [])))
}

/** A prompt of the graph, as this agent runs it. */
interface GraphPrompt {
  readonly agent: string
  /** The agent's own values. */
  readonly env: Readonly<Record<string, string>>
  readonly prompt: PromptContent
}

const known = new WeakMap<Registry, Map<string, readonly GraphPrompt[]>>()

/**
 * Returns all prompts that a thread of this agent may run, itself or in threads below it: its own, those that they call
 * as tools, and those of the agents that they start or hand off to. Agents that this worker does not have are left out.
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
  // Iterating a set also reaches elements that are added during the iteration.
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

/** Returns the values that are not secrets (T5); names without a value are left out. */
export async function listShownValues(
  dependencies: ActivityDependencies,
  scope: VariableScope,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = await resolveVariables(dependencies, scope, [...new Set(names)])
  return new Map([...found].flatMap(([name, { type, open }]) => (type === 'text' ? [[name, open()]] : [])))
}

/** The required variables of a prompt, and those of them that have no value. */
export interface RequiredVariables {
  readonly required: readonly string[]
  readonly missing: readonly string[]
}

/**
 * Finds the required variables of a prompt, including those of its tools and nested prompts, and which of them have no
 * value. Opens no secret.
 */
export async function missingVariables(
  dependencies: ActivityDependencies,
  scope: VariableScope & { readonly content: PlanContent; readonly prompt: string },
): Promise<RequiredVariables> {
  const required = listRequiredNames(scope.content, scope.prompt)
  const found = await resolveVariables(dependencies, scope, required)
  return { required, missing: required.filter((name) => !found.has(name)) }
}

function listRequiredNames(content: PlanContent, first: string): readonly string[] {
  const names = new Set<string>()
  const seen = new Set<string>()
  const waiting = [first]
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const prompt = seen.has(name) ? undefined : content.prompts[name]
    seen.add(name)
    if (prompt === undefined) continue
    for (const variable of prompt.variables) if (variable.required) names.add(variable.name)
    waiting.push(...Object.values(prompt.subprompts).map((nested) => nested.prompt))
  }
  return [...names]
}

interface NewSubagent {
  /** The parent's thread. */
  readonly threadId: string
  readonly agent: string
  /** The names whose values the parent passes on. */
  readonly given: ReadonlySet<string>
}

/**
 * Finds the required variables that a new subagent does not inherit because a prompt of its graph declares them as scoped,
 * and which of them have no value. Values of the worker, of agents and of prompts count.
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
