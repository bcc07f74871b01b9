import type { JSONSchema7, SharedV4ProviderOptions } from '@ai-sdk/provider'

import type { Plan } from '../protocol/plan.js'

/**
 * All that a run needs of an agent's definitions save the code of its tools, as JSON. It is kept in the store under
 * `plan.digest`, so that a run keeps its own while workers change.
 */
export interface PlanContent {
  readonly plan: Plan
  /** The prompts of the sides, by name. */
  readonly prompts: Readonly<Record<string, PromptContent>>
  /** The models of these prompts, by name. */
  readonly models: Readonly<Record<string, ModelContent>>
  readonly lifecycle: { readonly a: LifecycleContent; readonly b: LifecycleContent | null }
}

export interface PromptContent {
  /** The text, with its includes rendered. */
  readonly system: string
  /** Name of the model. */
  readonly model: string
  readonly includeChat: boolean
  readonly includePastTools: boolean
  readonly toolChoice: 'auto' | 'none' | 'required'
  /** Those of the model, overridden by those of the prompt. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** In the order of the prompt. */
  readonly tools: readonly ToolContent[]
  /** How the arguments of its subagent tools become a child, by tool name. */
  readonly subagents: Readonly<Record<string, SubagentContent>>
}

export interface ToolContent {
  readonly name: string
  readonly description: string
  readonly inputSchema: JSONSchema7
}

export interface SubagentContent {
  readonly agent: string
  readonly blocking: boolean
  readonly initUserMessageProperty?: string
  readonly initAttachmentsProperty?: string
  readonly initAgentNameProperty?: string
}

/** Prices are US dollars per million tokens, null when unknown. */
export interface ModelContent {
  /** The id that the provider knows. */
  readonly model: string
  readonly inputPrice: number | null
  readonly outputPrice: number | null
  readonly cachedPrice: number | null
  readonly supportsImages: boolean
  readonly supportsToolCalls: boolean
  readonly maxContextTokens: number | null
}

export interface LifecycleContent {
  readonly sessionStop: SessionToolContent | null
  readonly sessionFail: SessionToolContent | null
}

export interface SessionToolContent {
  readonly name: string
  readonly messageProperty?: string
  readonly attachmentsProperty?: string
}
