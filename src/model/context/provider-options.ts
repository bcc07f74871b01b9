/**
 * Anthropic refuses a request that turns thinking on in the middle of a turn: a last assistant message that calls tools
 * must begin with the thinking that led to the calls, and must contain none if thinking is off. Some calls have no
 * thinking: those of queued tools, of a fallback, and of a step before the prompt enabled reasoning. A request with them is
 * sent without thinking, and the next turn thinks again. Other providers ignore these options.
 */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider'
import { isObject } from '../../protocol/values.js'
import type { ModelRequest } from '../stream-answer.js'

/** Returns the request in the form that Anthropic accepts; most requests stay unchanged. */
export function withPermittedThinking(request: ModelRequest): ModelRequest {
  const thinking = thinkingOf(request)
  if (thinking === 'off') return { ...request, prompt: withoutThinking(request.prompt) }
  if (thinking === 'unsaid' || !callsWithoutThinking(request.prompt)) return request
  const { anthropic, ...others } = request.providerOptions ?? {}
  const providerOptions = { ...others, anthropic: { ...anthropic, thinking: { type: 'disabled' } } }
  return { ...request, providerOptions, prompt: withoutThinking(request.prompt) }
}

/** `unsaid`: the choice is the model's own, which Anthropic permits in the middle of a turn. */
function thinkingOf({ providerOptions, reasoning }: ModelRequest): 'on' | 'off' | 'unsaid' {
  const thinking = providerOptions?.['anthropic']?.['thinking']
  const type = isObject(thinking) ? thinking['type'] : undefined
  if (type === 'enabled') return 'on'
  if (type === 'disabled') return 'off'
  if (type !== undefined || reasoning === undefined || reasoning === 'provider-default') return 'unsaid'
  return reasoning === 'none' ? 'off' : 'on'
}

/** True if the last assistant messages, which the provider reads as one, call tools without thinking first. */
function callsWithoutThinking(prompt: LanguageModelV4Prompt): boolean {
  const last = prompt.findLastIndex(({ role }) => role === 'assistant')
  if (last === -1) return false
  const before = prompt.slice(0, last).findLastIndex(({ role }) => role !== 'assistant')
  const parts = prompt.slice(before + 1, last + 1).flatMap(contentOf)
  return parts.some(({ type }) => type === 'tool-call') && !(parts[0] !== undefined && isThinking(parts[0]))
}

function withoutThinking(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.flatMap((message) => {
    if (message.role !== 'assistant' || !message.content.some(isThinking)) return [message]
    const content = message.content.filter((part) => !isThinking(part))
    return content.length === 0 ? [] : [{ ...message, content }]
  })
}

type Part = Exclude<LanguageModelV4Message['content'], string>[number]

function contentOf({ content }: LanguageModelV4Message): readonly Part[] {
  return typeof content === 'string' ? [] : content
}

/** True for thinking that Anthropic accepts back: with a signature, or redacted. */
function isThinking(part: Part): boolean {
  const given = part.type === 'reasoning' ? part.providerOptions?.['anthropic'] : undefined
  return given?.['signature'] !== undefined || given?.['redactedData'] !== undefined
}

/**
 * Marks the end of a prefix for Anthropic's cache: the system text, which follows the tools, and the last message that the
 * next request will contain too. Other providers cache by themselves and ignore the mark.
 */
const HINT = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Marks the prefix that the next request shares; the last `passing` messages will not be in that request. */
export function withCacheHints(prompt: LanguageModelV4Prompt, passing: number): LanguageModelV4Prompt {
  const last = prompt.length - 1 - passing
  return prompt.map((message, index) =>
    index === last || (index === 0 && message.role === 'system') ? withHint(message) : message,
  )
}

function withHint(message: LanguageModelV4Message): LanguageModelV4Message {
  const { anthropic, ...others } = message.providerOptions ?? {}
  // A value that a hook has set takes precedence.
  return { ...message, providerOptions: { ...others, anthropic: { ...HINT.anthropic, ...anthropic } } }
}

/** The description of a tool for the model. */
interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: LanguageModelV4FunctionTool['inputSchema']
  readonly strict?: boolean
  readonly providerOptions?: NonNullable<LanguageModelV4FunctionTool['providerOptions']>
}

/** The tools of a request, in the order given: the same tools are the same bytes (T12). */
export function toolConfiguration(
  tools: readonly ToolDescription[],
  providerTools: readonly Omit<LanguageModelV4ProviderTool, 'type'>[] = [],
): RequestTools {
  const own = tools.map(({ name, description, inputSchema, strict, providerOptions }) => ({
    type: 'function' as const,
    name,
    description,
    inputSchema,
    ...(strict !== undefined && { strict }),
    ...(providerOptions !== undefined && { providerOptions }),
  }))
  return [...own, ...providerTools.map((tool): RequestTools[number] => ({ type: 'provider', ...tool }))]
}

type RequestTools = (LanguageModelV4FunctionTool | LanguageModelV4ProviderTool)[]
