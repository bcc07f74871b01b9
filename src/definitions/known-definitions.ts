import type { AgentDefinition } from './agent.js'
import type { EffectDefinition } from './effect.js'
import type { AnyHook } from './hook.js'
import type { ModelDefinition } from './model.js'
import type { PromptDefinition } from './prompt.js'
import type { ToolDefinition } from './tool.js'
import type { ToolSource } from './tool-source.js'

/** The word for one definition of each kind. */
export const KIND_WORDS = {
  agents: 'agent',
  prompts: 'prompt',
  models: 'model',
  tools: 'tool',
  hooks: 'hook',
  effects: 'effect',
} as const

export type DefinitionKind = keyof typeof KIND_WORDS

/** The kinds, in the order of reports. */
export const DEFINITION_KINDS = Object.keys(KIND_WORDS) as readonly DefinitionKind[]

export type DefinitionNames = Readonly<Record<DefinitionKind, ReadonlySet<string>>>

/**
 * The names to which the definitions of one registry can refer. A definition with wrong fields counts as registered, so that
 * references to it are not reported too; its right fields can be read.
 */
export interface KnownDefinitions {
  readonly names: DefinitionNames
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly prompts: ReadonlyMap<string, PromptDefinition>
  readonly models: ReadonlyMap<string, ModelDefinition>
  readonly tools: ReadonlyMap<string, ToolDefinition>
  readonly hooks: ReadonlyMap<string, AnyHook>
}

/** All definitions of a worker, checked. Lookups by an unknown name give `undefined`. */
export interface Registry<
  Agents extends string = string,
  Models extends string = string,
  Tools = unknown,
  Output = unknown,
> {
  readonly agent: (name: string) => AgentDefinition | undefined
  readonly prompt: (name: string) => PromptDefinition | undefined
  readonly model: (name: string) => ModelDefinition | undefined
  readonly tool: (name: string) => ToolDefinition | undefined
  readonly hook: (id: string) => AnyHook | undefined
  readonly effect: (name: string) => EffectDefinition | undefined
  /** In the order of registration. */
  readonly names: () => RegistryNames<Agents, Models>
  /** The tools as they were passed to `registry()`: their types carry the arguments of each tool. */
  readonly tools: Tools
  /** For the compiler only: what runs of its agents make. */
  readonly output?: Output
  /** Things that are allowed but probably mistakes; workers log them. */
  readonly warnings: readonly string[]
}

/** The sources of tools of all prompts, each once. */
export function sourcesOf(registry: Registry): readonly ToolSource[] {
  const { prompts } = registry.names()
  return [...new Set(prompts.flatMap((name) => registry.prompt(name)?.toolSources ?? []))]
}

/** The names of all definitions; hooks have ids. */
export interface RegistryNames<Agents extends string = string, Models extends string = string> {
  readonly agents: readonly Agents[]
  readonly prompts: readonly string[]
  readonly models: readonly Models[]
  readonly tools: readonly string[]
  readonly hooks: readonly string[]
  readonly effects: readonly string[]
}

/** An unchecked definition from the input of `registry()`. */
export interface GivenDefinition {
  /** Undefined for an entry of a list without a name. */
  readonly name: string | undefined
  /** Its name in sentences. */
  readonly owner: string
  readonly definition: unknown
}

/** Lists the input's definitions of one kind. Keys name tools and effects, ids name hooks, and names all others. */
export function listGivenDefinitions(input: unknown, kind: DefinitionKind): readonly GivenDefinition[] {
  const given = isRecord(input) ? input[kind] : undefined
  const word = KIND_WORDS[kind]
  if (kind === 'tools' || kind === 'effects') {
    return Object.entries(isRecord(given) && !Array.isArray(given) ? given : {}).map(
      ([name, definition]) => ({
        name,
        owner: `${word} '${name}'`,
        definition,
      }),
    )
  }
  const list: readonly unknown[] = Array.isArray(given) ? given : []
  return list.map((definition, index) => {
    const name = textOf(definition, kind === 'hooks' ? 'id' : 'name')
    const owner = name === undefined || name === '' ? `${kind}[${index}]` : `${word} '${name}'`
    return { name, owner, definition }
  })
}

function textOf(definition: unknown, field: string): string | undefined {
  try {
    const value = isRecord(definition) ? definition[field] : undefined
    return typeof value === 'string' ? value : undefined
  } catch {
    // Told by the check of the definition, which reads all fields.
    return undefined
  }
}

/** What is wrong with a definition of which a getter has thrown. */
export function unreadableProblem(owner: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error)
  return `${owner}: expected fields that can be read, got one that throws: ${reason}`
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Asserts that `registry()` has found a definition: only a bug can refer to a missing one. */
export function requireDefinition<Definition>(definition: Definition | undefined, what: string): Definition {
  if (definition === undefined) throw new Error(`Expected ${what} to be in the registry, which was checked`)
  return definition
}

/** The results of a check of one definition or of all. */
export interface Findings {
  readonly problems: readonly string[]
  /** Things that are allowed but probably mistakes. */
  readonly warnings: readonly string[]
}
