import type { JSONSchema7, LanguageModelV4ProviderTool, SharedV4ProviderOptions } from '@ai-sdk/provider'

import { sidePlanOf } from '../../protocol/plan.js'
import type { Plan, Side } from '../../protocol/plan.js'
import type { Budget } from '../../policy/budget.js'
import type { Permissions } from '../../policy/permissions.js'
import type { VariableDefinition } from '../agent.js'
import type { DecidingPoint } from '../hook.js'
import type { Prices } from '../prices/defined-prices.js'
import type { CompactionConfig, ReasoningConfig, WindowConfig } from '../prompt.js'
import type { CallInput } from '../../protocol/activities.js'

/**
 * The part of an agent's definitions that its run needs, as JSON, without the code of its tools. The store keeps it under
 * `plan.digest`, so that a run keeps its own definitions while workers change.
 */
export interface PlanContent {
  readonly plan: Plan
  /** The prompts of the plan, by name. */
  readonly prompts: Readonly<Record<string, PromptContent>>
  /** The models of these prompts and their fallbacks, by name. */
  readonly models: Readonly<Record<string, ModelContent>>
  /** Milliseconds that a run waits for providers altogether. @default LIMITS.providerPatience */
  readonly providerPatience?: number
  /** The rules of the agent. */
  readonly permissions?: Permissions
  /** The JSON Schema of the answer that ends a run. */
  readonly output?: JSONSchema7
  /** The budget of each run of the agent. */
  readonly budget?: Budget
  /** Values of the agent's own `env`. */
  readonly env: Readonly<Record<string, string>>
  readonly lifecycle: { readonly a: LifecycleContent; readonly b: LifecycleContent | null }
}

/** A part of the system text with its includes resolved: text, or a variable that resolves at each step. */
export type SystemPart =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'env'; readonly property: string }

export interface PromptContent {
  readonly system: readonly SystemPart[]
  /** Name of the model. */
  readonly model: string
  readonly includeChat: boolean
  readonly includePastTools: boolean
  readonly toolChoice: 'auto' | 'none' | 'required'
  readonly parallelToolCalls: boolean
  readonly reasoning: ReasoningConfig | null
  readonly recentImageThreshold: number
  readonly window?: WindowConfig
  readonly compaction?: CompactionConfig
  /** The prompt's hooks, else the agent's. */
  readonly hooks: readonly string[]
  /** Those of them that decide, with their points: a worker that lacks one must deny a call. */
  readonly deciding?: Readonly<Record<string, DecidingPoint>>
  /** The variables of the prompt, its includes and its function tools; required if one of them requires it. */
  readonly variables: readonly VariableDefinition[]
  readonly env: Readonly<Record<string, string>>
  /** The authority that a call of it as a tool needs. */
  readonly capabilities?: readonly string[]
  /** The prompt's options, which override those of the model. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** Tools that the provider runs. */
  readonly providerTools?: readonly Omit<LanguageModelV4ProviderTool, 'type'>[]
  /** The names of the sources whose tools follow those of the prompt. */
  readonly toolSources?: readonly string[]
  /** In the order of the prompt. */
  readonly tools: readonly ToolContent[]
  /** How its subagents start, by agent name; resumable subagents have no tool of their own in `tools`. */
  readonly subagents: Readonly<Record<string, SubagentContent>>
  /** How the arguments of its prompt tools become a nested step, by tool name. */
  readonly subprompts: Readonly<Record<string, SubpromptContent>>
  /** How the arguments of its handoffs become a first message, by tool name. */
  readonly handoffs: Readonly<Record<string, HandoffContent>>
}

export interface SubpromptContent {
  readonly prompt: string
  readonly includeTextResponse: boolean
  readonly includeToolCalls: boolean
  readonly includeErrors: boolean
  readonly initUserMessageProperty?: string
  readonly initAttachmentsProperty?: string
}

export interface HandoffContent {
  readonly agent: string
  readonly capabilities?: readonly string[]
  readonly initUserMessageProperty?: string
  readonly initAttachmentsProperty?: string
}

export interface ToolContent {
  readonly name: string
  readonly description: string
  readonly inputSchema: JSONSchema7
  readonly strict?: boolean
  readonly providerOptions?: SharedV4ProviderOptions
}

export interface SubagentContent {
  readonly agent: string
  /** Shown in the parent's registry and to the model that may create it. */
  readonly title: string | null
  readonly description: string
  readonly blocking: boolean
  readonly timeout: number | null
  /** Name of the variable that enables it. */
  readonly optional: string | null
  readonly resumable: ResumableContent | null
  readonly immediate: ImmediateContent | null
  readonly fanOut: boolean
  /** A session of one side, which ends with its answer. */
  readonly session?: true
  /** The schema of the arguments of a call. */
  readonly inputSchema: JSONSchema7
  /** The authority that a call of it needs. */
  readonly capabilities?: readonly string[]
  readonly initUserMessageProperty?: string
  readonly initAttachmentsProperty?: string
  readonly initAgentNameProperty?: string
}

interface ResumableContent {
  readonly receives: Side
  /** Null for no limit of its own. */
  readonly maxInstances: number | null
  readonly parentCommunication: 'implicit' | 'explicit'
}

interface ImmediateContent {
  readonly nameEnv: string | null
  readonly descriptionEnv: string | null
  readonly scopedEnv: readonly string[]
}

/** A model with the prices that it had when the run began. */
export interface ModelContent extends Prices {
  /** The provider's id of the model. */
  readonly model: string
  readonly supportsImages: boolean
  readonly supportsDocuments: boolean
  readonly supportsAudio: boolean
  readonly supportsToolCalls: boolean
  /** Left out: it takes the schema of an answer. */
  readonly supportsJsonMode?: false
  readonly maxContextTokens: number | null
  readonly maxOutputTokens: number | null
  readonly reasoningLevels: Readonly<Record<string, string>>
  readonly providerOptions?: SharedV4ProviderOptions
  /** Names of the plan's models, in the order in which they are tried. */
  readonly fallbacks: readonly string[]
}

export interface LifecycleContent {
  readonly stopTool: string | null
  readonly stopToolResponseProperty: string | null
  readonly sessionStatus: SessionToolContent | null
  readonly sessionStop: SessionToolContent | null
  readonly sessionFail: SessionToolContent | null
}

export interface SessionToolContent {
  readonly name: string
  readonly messageProperty?: string
  readonly attachmentsProperty?: string
}

/** The prompt of a side. */
export function promptOf(content: PlanContent, side: Side): PromptContent & { readonly name: string } {
  return promptNamed(content, sidePlanOf(content.plan, side).prompt)
}

/** The prompt whose answer contains the call: the last prompt of its path, else the prompt of its side. */
export function activePrompt(
  content: PlanContent,
  { side, promptPath }: Pick<CallInput, 'side' | 'promptPath'>,
): PromptContent & { readonly name: string } {
  const name = promptPath.at(-1)
  const prompt =
    name !== undefined && Object.hasOwn(content.prompts, name) ? content.prompts[name] : undefined
  return name === undefined || prompt === undefined ? promptOf(content, side) : { ...prompt, name }
}

/** @throws if the plan does not have the prompt: a bug of the caller */
export function promptNamed(content: PlanContent, name: string): PromptContent & { readonly name: string } {
  const prompt = content.prompts[name]
  if (prompt === undefined) throw new Error(`The plan has no prompt ${name}.`)
  return { ...prompt, name }
}
