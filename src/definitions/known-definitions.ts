import type { AgentDefinition } from './agent.js'
import type { EffectDefinition } from './effect.js'
import type { AnyHook } from './hook.js'
import type { ModelDefinition } from './model.js'
import type { PromptDefinition } from './prompt.js'
import type { ToolDefinition } from './tool.js'

/** What one definition of each kind is called in sentences. */
export const KIND_WORDS = {
  agents: 'agent',
  prompts: 'prompt',
  models: 'model',
  tools: 'tool',
  hooks: 'hook',
  effects: 'effect',
} as const

export type DefinitionKind = keyof typeof KIND_WORDS

/** In the order in which they are reported. */
export const DEFINITION_KINDS = Object.keys(KIND_WORDS) as readonly DefinitionKind[]

export type DefinitionNames = Readonly<Record<DefinitionKind, ReadonlySet<string>>>

/**
 * What the definitions of one registry can refer to. A definition whose fields are wrong counts as registered, so that
 * its mistake is not reported again by each that refers to it; it can be looked at as far as the rest of it is right.
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
export interface Registry<Agents extends string = string, Models extends string = string, Tools = unknown> {
  readonly agent: (name: string) => AgentDefinition | undefined
  readonly prompt: (name: string) => PromptDefinition | undefined
  readonly model: (name: string) => ModelDefinition | undefined
  readonly tool: (name: string) => ToolDefinition | undefined
  readonly hook: (id: string) => AnyHook | undefined
  readonly effect: (name: string) => EffectDefinition | undefined
  /** In the order of registration. */
  readonly names: () => RegistryNames<Agents, Models>
  /** As given: the compiler finds the arguments of each tool in it. */
  readonly tools: Tools
  /** What is allowed but probably not meant; workers log it. */
  readonly warnings: readonly string[]
}

/** What a registry holds, by name; hooks by id. */
export interface RegistryNames<Agents extends string = string, Models extends string = string> {
  readonly agents: readonly Agents[]
  readonly prompts: readonly string[]
  readonly models: readonly Models[]
  readonly tools: readonly string[]
  readonly hooks: readonly string[]
  readonly effects: readonly string[]
}

/** Something that may be a definition, as `registry()` was given it. */
export interface GivenDefinition {
  /** Undefined where a list has something without a name. */
  readonly name: string | undefined
  /** What it is called in sentences. */
  readonly owner: string
  readonly definition: unknown
}

/** All of one kind. Tools and effects are named by their keys, hooks by their ids, the others by their names. */
export function givenDefinitions(input: unknown, kind: DefinitionKind): readonly GivenDefinition[] {
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
  const value = isRecord(definition) ? definition[field] : undefined
  return typeof value === 'string' ? value : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** A definition that `registry()` has found: only a bug can refer to a missing one. */
export function registered<Definition>(definition: Definition | undefined, what: string): Definition {
  if (definition === undefined) throw new Error(`Expected ${what} to be in the registry, which was checked`)
  return definition
}

/** What the check of one definition, or of all, finds. */
export interface Findings {
  readonly problems: readonly string[]
  /** What is allowed but probably not meant. */
  readonly warnings: readonly string[]
}
