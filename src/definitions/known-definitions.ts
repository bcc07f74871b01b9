import type { AgentDefinition } from './agent.js'
import type { PromptDefinition } from './prompt.js'
import type { ToolDefinition } from './tool.js'

/**
 * What the definitions of one registry can refer to. A definition whose fields are wrong counts as registered, so that
 * its mistake is not reported again by each that refers to it; it can be looked at as far as the rest of it is right.
 */
export interface KnownDefinitions {
  readonly names: Readonly<Record<'agents' | 'prompts' | 'models' | 'tools', ReadonlySet<string>>>
  readonly agents: ReadonlyMap<string, AgentDefinition>
  readonly prompts: ReadonlyMap<string, PromptDefinition>
  readonly tools: ReadonlyMap<string, ToolDefinition>
}
