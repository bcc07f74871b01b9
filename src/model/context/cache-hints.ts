import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'

/**
 * Where Anthropic's cache may be cut: after the system text, which stands behind the tools, and after the last message
 * that the next request will have too. Others cache by themselves, and do not look at it.
 */
const HINT = { anthropic: { cacheControl: { type: 'ephemeral' } } } as const

/** Marks what the next request will begin with; `passing` messages at the end will not be in it. */
export function withCacheHints(prompt: LanguageModelV4Prompt, passing: number): LanguageModelV4Prompt {
  const last = prompt.length - 1 - passing
  return prompt.map((message, index) =>
    index === last || (index === 0 && message.role === 'system') ? hinted(message) : message,
  )
}

function hinted(message: LanguageModelV4Message): LanguageModelV4Message {
  const { anthropic, ...others } = message.providerOptions ?? {}
  // A hook may have said something else.
  return { ...message, providerOptions: { ...others, anthropic: { ...HINT.anthropic, ...anthropic } } }
}
