import type {
  AgentDefinition,
  ModelDefinition,
  PromptDefinition,
  Registry,
  ToolDefinition,
} from '../../src/index.js'

/** Definitions as `registry()` puts them together, without its checks. */
export function uncheckedRegistry(definitions: {
  readonly agents: readonly AgentDefinition[]
  readonly prompts: readonly PromptDefinition[]
  readonly models: readonly ModelDefinition[]
  readonly tools: Readonly<Record<string, ToolDefinition>>
}): Registry {
  const { agents, prompts, models, tools } = definitions
  const named =
    <D extends { readonly name: string }>(all: readonly D[]) =>
    (name: string) =>
      all.find((definition) => definition.name === name)
  return {
    agent: named(agents),
    prompt: named(prompts),
    model: named(models),
    tool: (name) => (Object.hasOwn(tools, name) ? tools[name] : undefined),
    hook: () => undefined,
    effect: () => undefined,
    names: () => ({ agents: [], prompts: [], models: [], tools: [], hooks: [], effects: [] }),
    tools,
    warnings: [],
  }
}
