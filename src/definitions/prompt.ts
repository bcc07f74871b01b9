import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { z } from 'zod'
import type { ActionTraits } from '../policy/action.js'
import type { VariableDefinition } from './agent.js'
import type { SubagentToolConfig } from './subagent-tool.js'
import type { ToolSource } from './tool-source.js'

/** A part of a system text: text, the whole text of another prompt, or the value of a variable that is no secret. */
export type PromptPart<Include extends string = string> =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'include'; readonly prompt: Include }
  | { readonly type: 'env'; readonly property: string }

/** A prompt as a tool: one nested model step whose text and calls become the result. */
export interface SubpromptConfig<Callable extends string = string> {
  readonly name: Callable
  /** @default true */
  readonly includeTextResponse?: boolean
  /** @default true */
  readonly includeToolCalls?: boolean
  /** @default true */
  readonly includeErrors?: boolean
  /** Argument whose text becomes the user message of the nested step, or an agent's first message after a handoff. */
  readonly initUserMessageProperty?: string
  /** Argument that holds one attachment path or several, for that message. */
  readonly initAttachmentsProperty?: string
}

/** A callable of a model, by name: a tool (its key in the registry), a prompt or an agent. */
export type ToolEntry<Callable extends string = string> =
  | Callable
  | SubpromptConfig<Callable>
  | SubagentToolConfig<Callable>

/** How much a model reasons, and how its reasoning is used. */
export interface ReasoningConfig {
  readonly effort?: 'low' | 'medium' | 'high'
  /** Tokens. */
  readonly maxTokens?: number
  /** Asks the provider not to return its reasoning. */
  readonly exclude?: boolean
  /**
   * Sends stored reasoning again in later turns, to the prompt and the model that wrote it. Signed reasoning of the current
   * turn is always sent.
   */
  readonly include?: boolean
}

/** A tool of the AI SDK that a provider runs itself, such as `openai.tools.webSearch()`, as far as it is read. */
export interface ProviderTool {
  readonly type: 'provider'
  /** The provider, a point, and its name of the tool. */
  readonly id: string
  readonly isProviderExecuted: boolean
  /** JSON. */
  readonly args: unknown
}

/** How much of the conversation a request has at most, beside what its model accepts. */
export interface WindowConfig {
  /** A whole number from 2 to 500. Without `compaction` the window moves with each message; with it, it moves in jumps. */
  readonly messages: number
}

/** How a conversation that fills its window is made shorter. The transcript keeps everything. */
export interface CompactionConfig<Model extends string = string> {
  /**
   * Writes the summaries.
   * @default the model of the prompt
   */
  readonly model?: Model
  /**
   * False: the oldest messages are left out without a summary.
   * @default true
   */
  readonly summary?: boolean
  /**
   * The share of the window at which it starts, from 0.1 to 0.95.
   * @default 0.8
   */
  readonly threshold?: number
  /**
   * The share of what may be filled that stays, from 0.1 to 0.9.
   * @default 0.5
   */
  readonly keep?: number
  /**
   * How many of the newest results of tools are never cleared; errors are not cleared either.
   * @default 3
   */
  readonly keepResults?: number
  /** What the summaries must keep, as an instruction to their model. */
  readonly instructions?: string
}

/** A system text, its model, the parts of the conversation in its context, and its tools. */
export interface PromptDefinition<
  Name extends string = string,
  Model extends string = string,
  Callable extends string = string,
  Include extends string = string,
  Hook extends string = string,
> {
  /** Unique among prompts. */
  readonly name: Name
  readonly toolDescription: string
  /** Parts are joined without separators. */
  readonly prompt: string | readonly PromptPart<Include>[]
  readonly model: Model
  /**
   * True if the messages of the thread are in the context.
   * @default false
   */
  readonly includeChat?: boolean
  /**
   * True if earlier tool calls and results are in the context.
   * @default false
   */
  readonly includePastTools?: boolean
  /** Arguments of the prompt as a tool, and of the tool of an agent whose side A has this prompt. */
  readonly requiredSchema?: z.ZodObject
  readonly variables?: readonly VariableDefinition[]
  /** Values of variables for which no other source has one. */
  readonly env?: Readonly<Record<string, string>>
  /** The authority that a call of this prompt as a tool needs. */
  readonly capabilities?: ActionTraits['capabilities']
  /** Ids of hooks; they replace those of the agent. */
  readonly hooks?: readonly Hook[]
  /**
   * Allows several calls in one answer of the model; they run one after another in any case.
   * @default false
   */
  readonly parallelToolCalls?: boolean
  readonly reasoning?: ReasoningConfig
  /**
   * How many of the newest messages keep their images at least. Older images become notes with their paths, in groups of this
   * many messages, so that requests share their beginnings. Documents and audio are treated alike.
   * @default 10
   */
  readonly recentImageThreshold?: number
  /**
   * How often in a row a further step asks the model for the rest of an answer that its limit of output tokens has cut off.
   * After that the turn ends with reason `answer_cut`. It has no effect for a prompt that is called as a tool.
   * @default 0
   */
  readonly continueCutAnswers?: number
  /** A bound of the messages in a request. */
  readonly window?: WindowConfig
  /** Without it the oldest messages are left out when the window is full. */
  readonly compaction?: CompactionConfig<Model>
  readonly tools?: readonly ToolEntry<Callable>[]
  /** Tools that the provider of the model runs itself, by their names: `{ web_search: openai.tools.webSearch() }`. */
  readonly providerTools?: Readonly<Record<string, ProviderTool>>
  /** Servers whose tools follow those of `tools`, such as `mcpServer(…)`. Each run asks them which tools they have. */
  readonly toolSources?: readonly ToolSource[]
  /** @default 'auto' */
  readonly toolChoice?: 'auto' | 'none' | 'required'
  /** Options by provider key of the AI SDK; they override those of the model. */
  readonly providerOptions?: SharedV4ProviderOptions
}

/** Declares a prompt; `registry()` checks it. */
export function definePrompt<
  const Name extends string,
  const Model extends string,
  const Callable extends string = never,
  const Include extends string = never,
  const Hook extends string = never,
>(
  definition: PromptDefinition<Name, Model, Callable, Include, Hook>,
): PromptDefinition<Name, Model, Callable, Include, Hook> {
  return definition
}

/** Lists the prompts that this one includes itself, by name. */
export function listIncludedPrompts({ prompt }: Pick<PromptDefinition, 'prompt'>): readonly string[] {
  if (typeof prompt === 'string') return []
  return prompt.flatMap((part) => (part.type === 'include' ? [part.prompt] : []))
}

/** A variable whose value an entry for a subagent uses. */
interface EntryVariable {
  /** The subagent. */
  readonly agent: string
  readonly field: 'optional' | 'immediate.nameEnv' | 'immediate.descriptionEnv'
  readonly name: string
}

/** Lists the variables of a prompt's entries that the runtime reads. */
export function listEntryVariables({ tools = [] }: PromptDefinition): readonly EntryVariable[] {
  return tools.flatMap((entry) => {
    if (typeof entry === 'string' || !('optional' in entry || 'immediate' in entry)) return []
    const { name: agent, optional, immediate } = entry
    const hints = typeof immediate === 'object' ? immediate : {}
    const read = [
      ['optional', optional],
      ['immediate.nameEnv', hints.nameEnv],
      ['immediate.descriptionEnv', hints.descriptionEnv],
    ] as const
    return read.flatMap(([field, name]) => (name === undefined ? [] : [{ agent, field, name }]))
  })
}

/** Lists the variables that a prompt's entries pass on to their subagents. */
export function listScopedVariables({
  tools = [],
}: PromptDefinition): readonly Omit<EntryVariable, 'field'>[] {
  return tools.flatMap((entry) => {
    const immediate = typeof entry === 'string' || !('immediate' in entry) ? undefined : entry.immediate
    if (typeof entry === 'string' || typeof immediate !== 'object') return []
    return (immediate.scopedEnv ?? []).map((name) => ({ agent: entry.name, name }))
  })
}

const OLD_PART_TYPES: ReadonlyMap<unknown, string> = new Map([
  ['string', "{ type: 'text', content }"],
  ['variable', "{ type: 'env', property }"],
  ['prompt', "{ type: 'include', prompt }"],
])

/** The hint for a prompt part with an unknown type. */
export function partTypeHint(part: unknown): string {
  const type = typeof part === 'object' && part !== null && 'type' in part ? part.type : undefined
  const spelling = OLD_PART_TYPES.get(type)
  if (spelling !== undefined) return `expected a part of Standard Agents 0.1.0: write ${spelling}`
  return "expected { type: 'text', content }, { type: 'include', prompt } or { type: 'env', property }"
}
