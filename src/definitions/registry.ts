import type { z } from 'zod'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { SESSION_TOOLS } from './agent.js'
import type { AgentDefinition, SideConfig } from './agent.js'
import { checkDefinitions } from './checks/check-definitions.js'
import type {
  CheckedAgent,
  CheckedModel,
  CheckedPrompt,
  ModelNames,
  RegisteredNames,
} from './checks/names.js'
import type { EffectDefinition } from './effect.js'
import type { AnyHook } from './hook.js'
import type { Registry } from './known-definitions.js'
import type { ModelDefinition } from './model.js'
import { buildPlan } from './plan/build-plan.js'
import type { PromptDefinition } from './prompt.js'
import type { Agent, OutputsOf, ToolsOf } from './short-form/agent.js'
import { expandAgents } from './short-form/expand.js'
import type { ToolArguments, ToolDefinition } from './tool.js'

type ToolRecord = Readonly<Record<string, ToolDefinition>>

type EffectRecord = Readonly<Record<string, EffectDefinition>>

/**
 * Combines definitions and checks them against each other. The compiler checks names; everything else is checked at run time.
 * Agents in the short form bring their prompts, models and tools, and the agents that they reach.
 * @throws ConfigError with every problem at once
 */
export function registry<
  const Agents extends readonly (AgentDefinition | Agent)[],
  const Prompts extends readonly PromptDefinition[] = readonly [],
  const Models extends readonly ModelDefinition[] = readonly [],
  Tools extends ToolRecord = Record<never, never>,
  const Hooks extends readonly AnyHook[] = readonly [],
>(definitions: {
  readonly agents: Agents & {
    readonly [I in keyof Agents]: CheckedAgent<
      Agents[I],
      RegisteredNames<Agents, Prompts, Models, Tools, Hooks>
    >
  }
  readonly prompts?: Prompts & {
    readonly [I in keyof Prompts]: CheckedPrompt<
      Prompts[I],
      RegisteredNames<Agents, Prompts, Models, Tools, Hooks>
    >
  }
  readonly models?: Models & {
    readonly [I in keyof Models]: CheckedModel<
      Models[I],
      RegisteredNames<Agents, Prompts, Models, Tools, Hooks>
    >
  }
  readonly tools?: Tools
  readonly hooks?: Hooks
  readonly effects?: EffectRecord
}): Registry<Agents[number]['name'], ModelNames<Agents, Models>, Tools & ToolsOf<Agents>, OutputsOf<Agents>> {
  const expanded = expandAgents(definitions)
  const { problems, warnings } = checkDefinitions(expanded.definitions, expanded.unread)
  const all = [...expanded.problems, ...problems]
  if (all.length > 0) throw new ConfigError(all)
  // The checks have found nothing wrong with them.
  const { tools = {}, hooks = [], effects = {}, ...lists } = expanded.definitions as StandardDefinitions
  const made = createRegistry({ ...lists, tools, hooks, effects }, warnings)
  // They are those of the list and of the agents, as `expandAgents` has collected them.
  const checked = { ...made, tools: tools as Tools & ToolsOf<Agents> }
  const tooLarge = planProblems(checked)
  if (tooLarge.length > 0) throw new ConfigError(tooLarge)
  return checked
}

interface Definitions {
  readonly agents: readonly AgentDefinition[]
  readonly prompts: readonly PromptDefinition[]
  readonly models: readonly ModelDefinition[]
  readonly tools: ToolRecord
  readonly hooks: readonly AnyHook[]
  readonly effects: EffectRecord
}

type StandardDefinitions = Pick<Definitions, 'agents' | 'prompts' | 'models'> & Partial<Definitions>

function createRegistry(definitions: Definitions, warnings: readonly string[]): Omit<Registry, 'output'> {
  const agents = byName(definitions.agents.map(normalizeAgent))
  const prompts = byName(definitions.prompts)
  const models = byName(definitions.models.map(normalizeModel))
  const tools = new Map(Object.entries<ToolDefinition>(definitions.tools))
  const hooks = new Map(definitions.hooks.map((hook) => [hook.id, hook]))
  const effects = new Map(Object.entries(definitions.effects))
  const names = {
    agents: [...agents.keys()],
    prompts: [...prompts.keys()],
    models: [...models.keys()],
    tools: [...tools.keys()],
    hooks: [...hooks.keys()],
    effects: [...effects.keys()],
  }
  return {
    agent: (name) => agents.get(name),
    prompt: (name) => prompts.get(name),
    model: (name) => models.get(name),
    tool: (name) => tools.get(name),
    hook: (id) => hooks.get(id),
    effect: (name) => effects.get(name),
    names: () => names,
    tools: definitions.tools,
    warnings,
  }
}

function byName<D extends { readonly name: string }>(definitions: readonly D[]): ReadonlyMap<D['name'], D> {
  return new Map(definitions.map((definition) => [definition.name, definition]))
}

/** The agents of a registry, by name. */
export type AgentName<R> = R extends Registry<infer Agents, string, unknown> ? Agents : never

/** The models of a registry, by name. */
export type ModelName<R> = R extends Registry<string, infer Models, unknown> ? Models : never

/** The outputs of the agents of a registry. */
export type RunOutput<R> = R extends { readonly output?: infer Output } ? Exclude<Output, undefined> : unknown

/** The tools of a registry, by name. */
export type ToolName<R> = R extends { readonly tools: infer Tools }
  ? unknown extends Tools
    ? string
    : keyof Tools & string
  : never

/** The arguments of a tool as a caller writes them: those with a default are optional. */
export type ToolInput<R, Name extends ToolName<R>> = R extends { readonly tools: infer Tools }
  ? Name extends keyof Tools
    ? Tools[Name] extends ToolDefinition<infer Schema>
      ? Schema extends z.ZodObject
        ? z.input<Schema>
        : ToolArguments<Schema>
      : never
    : Record<string, unknown>
  : never

/** Finds agents whose control facts exceed the limit of a thread's state. */
function planProblems(registry: Registry): readonly string[] {
  return registry.names().agents.flatMap((name) => {
    const built = buildPlan(registry, name)
    const bytes = 'plan' in built ? Buffer.byteLength(JSON.stringify(built.plan)) : 0
    if (bytes <= LIMITS.planBytes) return []
    return [
      `agent '${name}' has a plan of ${bytes} bytes, expected at most ${LIMITS.planBytes}: list fewer tools in its prompts`,
    ]
  })
}

/** Replaces the old names of fields, so that only this file has to handle them. */
function normalizeAgent<Agent extends AgentDefinition>(agent: Agent): Agent {
  const sideA = normalizeSide(agent.sideA)
  const sideB = agent.sideB === undefined ? undefined : normalizeSide(agent.sideB)
  if (sideA === agent.sideA && sideB === agent.sideB) return agent
  return { ...agent, sideA, ...(sideB === undefined ? {} : { sideB }) }
}

function normalizeSide(side: SideConfig): SideConfig {
  if (SESSION_TOOLS.every(([, oldName]) => side[oldName] === undefined)) return side
  const { endSessionTool, failSessionTool, statusTool, ...rest } = side
  return {
    ...(endSessionTool === undefined ? {} : { sessionStop: endSessionTool }),
    ...(failSessionTool === undefined ? {} : { sessionFail: failSessionTool }),
    ...(statusTool === undefined ? {} : { sessionStatus: statusTool }),
    ...rest,
  }
}

/** Replaces the old names of fields, so that only this file has to handle them. */
function normalizeModel<Model extends ModelDefinition>(model: Model): Model {
  if (model.capabilities?.vision === undefined) return model
  const { vision, ...capabilities } = model.capabilities
  return { ...model, capabilities: { supportsImages: vision, ...capabilities } }
}
