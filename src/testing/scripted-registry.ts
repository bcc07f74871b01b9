import type { Registry } from '../definitions/known-definitions.js'
import type { ModelDefinition } from '../definitions/model.js'
import type { ModelName, ToolName } from '../definitions/registry.js'
import type { ThreadState } from '../definitions/thread-state.js'
import type { ToolAnswer } from '../definitions/tool-result.js'
import type { ToolArguments, ToolCall, ToolDefinition } from '../definitions/tool.js'
import type { LanguageModel } from '../model/model-answer.js'
import { ConfigError } from '../protocol/errors.js'

/** Replaces `execute` of a tool. It gets the parsed arguments, and may answer later, as a tool may. */
export type FakeTool<Arguments> = (
  args: Arguments,
  state: ThreadState,
  call: ToolCall,
) => ToolAnswer | Promise<ToolAnswer>

/** The parsed arguments, with defaults applied; untyped for a registry without types of its tools. */
type FakeArguments<R, Name extends string> = R extends { readonly tools: infer Tools }
  ? Name extends keyof Tools
    ? Tools[Name] extends ToolDefinition<infer Schema>
      ? ToolArguments<Schema>
      : never
    : Record<string, unknown>
  : never

/** The replacements of a test for models and tools, by name. */
export interface Replacements<R> {
  /**
   * Every model of the registry by its name, fallbacks included, so that no test reaches a provider; or one model in the place of
   * all.
   */
  readonly models: Readonly<Record<ModelName<R>, LanguageModel>> | LanguageModel
  readonly tools?: { readonly [Name in ToolName<R>]?: FakeTool<FakeArguments<R, Name>> }
}

/**
 * Replaces models and tools of a registry. Its agents, prompts, hooks, effects, schemas and descriptions stay.
 * @throws ConfigError with every model that is not scripted, and every name that the registry does not have
 */
export function scriptedRegistry<R extends Registry>(registry: R, replacements: Replacements<R>): Registry {
  const models = modelsOf(registry, replacements.models)
  const tools = new Map(Object.entries<FakeTool<never> | undefined>(replacements.tools ?? {}))
  const problems = replacementProblems(registry, [...models.keys()], [...tools.keys()])
  if (problems.length > 0) throw new ConfigError(problems)
  // Rate limits are counted by provider object, so each lookup has to return the same one.
  const scripted = new Map([...models].map(([name, model]) => [name, withModel(registry.model(name), model)]))
  return {
    ...registry,
    model: (name) => scripted.get(name),
    tool: (name) => withExecute(registry.tool(name), tools.get(name)),
  }
}

function modelsOf(
  registry: Registry,
  given: Readonly<Record<string, LanguageModel>> | LanguageModel,
): ReadonlyMap<string, LanguageModel> {
  if (!isModel(given)) return new Map(Object.entries(given))
  return new Map(registry.names().models.map((name) => [name, given]))
}

function isModel(given: object): given is LanguageModel {
  return 'doStream' in given && typeof given.doStream === 'function'
}

function replacementProblems(
  registry: Registry,
  models: readonly string[],
  tools: readonly string[],
): readonly string[] {
  const known = registry.names()
  const missing = known.models.filter((name) => !models.includes(name))
  const unknownModels = models.filter((name) => !known.models.includes(name))
  const unknownTools = tools.filter((name) => !known.tools.includes(name))
  return [
    ...missing.map((name) => `Expected a scripted model for "${name}", got none: add it to "models".`),
    ...unknownModels.map((name) => `Expected models of the registry only, got "${name}".`),
    ...unknownTools.map((name) => `Expected tools of the registry only, got "${name}".`),
  ]
}

function withModel(
  definition: ModelDefinition | undefined,
  model: LanguageModel,
): ModelDefinition | undefined {
  if (definition === undefined) return undefined
  const { taskQueue: _elsewhere, ...here } = definition
  return { ...here, provider: { languageModel: () => model } }
}

function withExecute(
  definition: ToolDefinition | undefined,
  fake: FakeTool<never> | undefined,
): ToolDefinition | undefined {
  if (definition === undefined) return undefined
  // The one worker of a test serves the threads' own task queue.
  const { taskQueue, ...here } = definition
  if (fake === undefined) return taskQueue === undefined ? definition : here
  const { remote: _inAnotherLanguage, ...local } = here
  return { ...local, execute: (state, args, call) => fake(args as never, state, call) }
}
