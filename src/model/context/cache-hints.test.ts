import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { withCacheHints } from './provider-options.js'

const prompt: LanguageModelV4Prompt = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: [{ type: 'text', text: 'one' }] },
  { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
  { role: 'user', content: [{ type: 'text', text: 'Continue.' }] },
]

function hintedIn(messages: LanguageModelV4Prompt): readonly number[] {
  return messages.flatMap(({ providerOptions }, index) =>
    providerOptions?.['anthropic']?.['cacheControl'] === undefined ? [] : [index],
  )
}

test('the system text and the last lasting message are marked', () => {
  expect(hintedIn(withCacheHints(prompt, 0))).toEqual([0, 3])
  expect(hintedIn(withCacheHints(prompt, 1))).toEqual([0, 2])
  expect(hintedIn(withCacheHints(prompt.slice(1), 0))).toEqual([2])
})

test('what a hook said of the cache holds', () => {
  const anthropic = { cacheControl: { type: 'ephemeral', ttl: '1h' } }
  const said = {
    role: 'system',
    content: 'Be brief.',
    providerOptions: { anthropic, other: { x: 1 } },
  } as const
  expect(withCacheHints([said], 0)).toEqual([said])
})
