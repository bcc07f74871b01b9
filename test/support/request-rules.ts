import type { LanguageModelV4Prompt } from '@ai-sdk/provider'

import type { ScriptedRequest } from '../../src/testing/index.js'

/**
 * The places, from 0, of requests that do not begin as the one before (T12). Where the cache may be cut moves on and is no
 * part of what is cached; a `Continue.` at the end stands for words that were not there yet.
 */
export function freshBeginnings(requests: readonly ScriptedRequest[]): readonly number[] {
  const bytes = requests.map(({ raw: { tools, prompt } }) => {
    const messages = prompt.map(({ role, content }) => JSON.stringify({ role, content }))
    return [JSON.stringify(tools), ...messages]
  })
  return requests.flatMap((_, index) => {
    const before = withoutContinue(bytes[index - 1] ?? [])
    return before.every((text, place) => text === bytes[index]?.[place]) ? [] : [index]
  })
}

function withoutContinue(bytes: readonly string[]): readonly string[] {
  return bytes.at(-1)?.includes('"Continue."') === true ? bytes.slice(0, -1) : bytes
}

/** Ids of calls that have no result right behind them, and of results without a call right before them. */
export function splitCalls(prompt: LanguageModelV4Prompt): readonly string[] {
  const exchanges = prompt.map((message, index) => {
    const next = prompt[index + 1]
    const calls = idsOf(message, 'tool-call')
    const results = next?.role === 'tool' ? idsOf(next, 'tool-result') : []
    return { calls, results }
  })
  return exchanges.flatMap(({ calls, results }) => [
    ...calls.filter((id) => !results.includes(id)),
    ...results.filter((id) => !calls.includes(id)),
  ])
}

function idsOf(
  { content }: LanguageModelV4Prompt[number],
  type: 'tool-call' | 'tool-result',
): readonly string[] {
  if (typeof content === 'string') return []
  return content.flatMap((part) => (part.type === type ? [part.toolCallId] : []))
}
