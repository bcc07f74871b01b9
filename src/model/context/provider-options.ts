/**
 * Anthropic refuses a request that turns thinking on in the midst of a turn: the last assistant message, if it calls tools, has to
 * begin with the thinking that led to the calls, and must not have any where thinking is off. Calls that nobody thought of (of
 * queued tools, of a fallback, of a step before the prompt reasoned) have none: such a request goes without thinking, and
 * the next turn thinks again. Other providers do not look at these options.
 */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider'
import { isObject } from '../../protocol/values.js'
import type { ModelRequest } from '../stream-answer.js'

/** The request as Anthropic accepts it, which is mostly as it is. */
export function withPermittedThinking(request: ModelRequest): ModelRequest {
  const asked = thinkingOf(request)
  if (asked === 'off') return { ...request, prompt: withoutThinking(request.prompt) }
  if (asked === 'unsaid' || !callsWithoutThinking(request.prompt)) return request
  const { anthropic, ...others } = request.providerOptions ?? {}
  const providerOptions = { ...others, anthropic: { ...anthropic, thinking: { type: 'disabled' } } }
  return { ...request, providerOptions, prompt: withoutThinking(request.prompt) }
}

/** `unsaid`: it is the model's own choice, which may come in the midst of a turn. */
function thinkingOf({ providerOptions, reasoning }: ModelRequest): 'on' | 'off' | 'unsaid' {
  const thinking = providerOptions?.['anthropic']?.['thinking']
  const type = isObject(thinking) ? thinking['type'] : undefined
  if (type === 'enabled') return 'on'
  if (type === 'disabled') return 'off'
  if (type !== undefined || reasoning === undefined || reasoning === 'provider-default') return 'unsaid'
  return reasoning === 'none' ? 'off' : 'on'
}

/** Whether the last words of the assistant, which the provider reads as one message, call tools without thinking first. */
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

/** As Anthropic takes it back: signed, or sealed. */
function isThinking(part: Part): boolean {
  const given = part.type === 'reasoning' ? part.providerOptions?.['anthropic'] : undefined
  return given?.['signature'] !== undefined || given?.['redactedData'] !== undefined
}

/**
 * Where Anthropic's cache may be cut: after the system text, which stands behind the tools, and after the last message
 * that the next request will have too. Others cache by themselves, and do not look at it.
 */
const HINT = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Marks what the next request will begin with; `passing` messages at the end will not be in it. */
export function withCacheHints(prompt: LanguageModelV4Prompt, passing: number): LanguageModelV4Prompt {
  const last = prompt.length - 1 - passing
  return prompt.map((message, index) =>
    index === last || (index === 0 && message.role === 'system') ? withHint(message) : message,
  )
}

function withHint(message: LanguageModelV4Message): LanguageModelV4Message {
  const { anthropic, ...others } = message.providerOptions ?? {}
  // A hook may have said something else.
  return { ...message, providerOptions: { ...others, anthropic: { ...HINT.anthropic, ...anthropic } } }
}

/** A tool as the model is told of it. */
interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: LanguageModelV4FunctionTool['inputSchema']
}

/** The tools of a request, in the order given: the same tools are the same bytes (T12). */
export function toolConfiguration(tools: readonly ToolDescription[]): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema,
  }))
}
