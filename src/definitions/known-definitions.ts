import type { AgentDefinition } from './agent.js'
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
