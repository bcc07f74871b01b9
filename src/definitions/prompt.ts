import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { z } from 'zod'

import type { SubagentToolConfig } from './subagent-tool.js'

/** A piece of a system text: words, or the whole text of another prompt. */
export type PromptPart<Include extends string = string> =
  | { readonly type: 'text'; readonly content: string }
  | { readonly type: 'include'; readonly prompt: Include }

/** What a model may call: a tool by its key in the registry, or a subagent. */
export type ToolEntry<Callable extends string = string> = Callable | SubagentToolConfig<Callable>

/** A system text with the model that reads it, what it sees of the conversation, and what it may call. */
export interface PromptDefinition<
  Name extends string = string,
  Model extends string = string,
  Callable extends string = string,
  Include extends string = string,
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
  /** Arguments of the subagent tool of an agent whose side A has this prompt. */
  readonly requiredSchema?: z.ZodObject
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
>(
  definition: PromptDefinition<Name, Model, Callable, Include>,
): PromptDefinition<Name, Model, Callable, Include> {
  return definition
}
