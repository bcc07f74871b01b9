import { missingResult } from './tool-exchange.js'

import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'

/**
 * Gives each call its result in the message behind it, and drops results without a call: providers refuse a request in
 * which one side of a pair is missing. What is whole stays as it is.
 */
export function pairToolMessages(prompt: readonly LanguageModelV4Message[]): LanguageModelV4Prompt {
  return prompt.flatMap((message, index) => {
    if (message.role === 'tool') return []
    const calls = callsOf(message)
    if (calls.length === 0) return [message]
    const next = prompt[index + 1]
    const given = next?.role === 'tool' ? next : undefined
    const results = new Map(
      (given?.content ?? []).flatMap((part) =>
        part.type === 'tool-result' ? [[part.toolCallId, part] as const] : [],
      ),
    )
    const content = calls.map(
      ({ toolCallId, toolName }): LanguageModelV4ToolResultPart =>
        results.get(toolCallId) ?? missingResult(toolCallId, toolName),
    )
    return [message, { ...given, role: 'tool', content }]
  })
}

function callsOf(message: LanguageModelV4Message) {
  if (message.role !== 'assistant') return []
  return message.content.filter((part) => part.type === 'tool-call')
}
