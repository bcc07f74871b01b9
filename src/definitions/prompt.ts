import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { z } from 'zod'
import type { VariableDefinition } from './agent.js'
import type { SubagentToolConfig } from './subagent-tool.js'

/** A piece of a system text: words, the whole text of another prompt, or the value of a variable that is no secret. */
export type PromptPart<Include extends string = string> =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'include'; readonly prompt: Include }
  | { readonly type: 'env'; readonly property: string }

/** A prompt as a tool: one nested model step whose words and calls become the result. */
export interface SubpromptConfig<Callable extends string = string> {
  readonly name: Callable
  /** @default true */
  readonly includeTextResponse?: boolean
  /** @default true */
  readonly includeToolCalls?: boolean
  /** @default true */
  readonly includeErrors?: boolean
  /** Argument whose text becomes the user message of the nested step; of an agent, the first message after the handoff. */
  readonly initUserMessageProperty?: string
  /** Argument that holds one attachment path or several, for that message. */
  readonly initAttachmentsProperty?: string
}

/** What a model may call: a tool by its key in the registry, a prompt, an agent. */
export type ToolEntry<Callable extends string = string> =
  | Callable
  | SubpromptConfig<Callable>
  | SubagentToolConfig<Callable>

/** How much a model reasons, and what becomes of its reasoning. */
export interface ReasoningConfig {
  readonly effort?: 'low' | 'medium' | 'high'
  /** Tokens. */
  readonly maxTokens?: number
  /** The provider is asked not to return it. */
  readonly exclude?: boolean
  /**
   * Stored reasoning is sent again in later turns too, to the prompt and the model that wrote it. Signed reasoning of the turn at
   * hand is in any case.
   */
  readonly include?: boolean
}

/** A system text with the model that reads it, what it sees of the conversation, and what it may call. */
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
   * Whether the messages of the thread are in the context.
   * @default false
   */
  readonly includeChat?: boolean
  /**
   * Whether earlier tool calls and results are in the context.
   * @default false
   */
  readonly includePastTools?: boolean
  /** Arguments of the prompt as a tool, and of the tool of an agent whose side A has this prompt. */
  readonly requiredSchema?: z.ZodObject
  readonly variables?: readonly VariableDefinition[]
  /** Values of variables that nothing else gives. */
  readonly env?: Readonly<Record<string, string>>
  /** Ids of hooks; they replace those of the agent. */
  readonly hooks?: readonly Hook[]
  /**
   * Asks the provider for several calls in one answer; they run one after another all the same.
   * @default false
   */
  readonly parallelToolCalls?: boolean
  readonly reasoning?: ReasoningConfig
  /**
   * How many of the newest messages keep their images at least; older images become path notes, as many at a time as this
   * number says, so that requests share their beginnings. Documents and audio are treated alike.
   * @default 10
   */
  readonly recentImageThreshold?: number
  /**
   * How often in a row the model is asked for the rest of an answer that its limit of output tokens cut off, as a further step.
   * After that the turn ends with reason `answer_cut`. Not for a prompt that is called as a tool.
   * @default 0
   */
  readonly continueCutAnswers?: number
  readonly tools?: readonly ToolEntry<Callable>[]
  /** @default 'auto' */
  readonly toolChoice?: 'auto' | 'none' | 'required'
  /** By provider key of the AI SDK; they override those of the model. */
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

/** The names of the prompts whose text is part of this one's, as it names them itself. */
export function includedPrompts({ prompt }: Pick<PromptDefinition, 'prompt'>): readonly string[] {
  if (typeof prompt === 'string') return []
  return prompt.flatMap((part) => (part.type === 'include' ? [part.prompt] : []))
}

/** A variable whose value decides or says something where a prompt lists a subagent. */
interface EntryVariable {
  /** The subagent. */
  readonly agent: string
  readonly field: 'optional' | 'immediate.nameEnv' | 'immediate.descriptionEnv'
  readonly name: string
}

/** Those of a prompt's entries whose values are read by the runtime. */
export function entryVariables({ tools = [] }: PromptDefinition): readonly EntryVariable[] {
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

/** Those that a prompt's entries hand on, by the names of their subagents. */
export function scopedVariables({ tools = [] }: PromptDefinition): readonly Omit<EntryVariable, 'field'>[] {
  return tools.flatMap((entry) => {
    const immediate = typeof entry === 'string' || !('immediate' in entry) ? undefined : entry.immediate
    if (typeof entry === 'string' || typeof immediate !== 'object') return []
    return (immediate.scopedEnv ?? []).map((name) => ({ agent: entry.name, name }))
  })
}
