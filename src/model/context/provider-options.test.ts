import type { LanguageModelV4Message } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import type { ModelRequest } from '../stream-answer.js'
import { withPermittedThinking } from './provider-options.js'

const providerOptions = { anthropic: { signature: 'sig' } }
const thinking = { type: 'reasoning', text: 'Hm.', providerOptions } as const
const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} } as const
const output = { type: 'text', value: 'Seen.' } as const
const question: LanguageModelV4Message = { role: 'user', content: [{ type: 'text', text: 'Well?' }] }
const result: LanguageModelV4Message = {
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'look', output }],
}
const thought: LanguageModelV4Message = { role: 'assistant', content: [thinking, call] }
const thoughtless: LanguageModelV4Message = { role: 'assistant', content: [call] }
const on = { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } }
const off = { anthropic: { thinking: { type: 'disabled' } } }

const request = (last: LanguageModelV4Message, settings: Partial<ModelRequest> = {}): ModelRequest => ({
  prompt: [question, last, result],
  ...settings,
})

test('P6 a turn that began with thinking goes on with it', () => {
  for (const settings of [{ providerOptions: on }, { reasoning: 'high' } as const, {}])
    expect(withPermittedThinking(request(thought, settings))).toEqual(request(thought, settings))
})

test('P6 a turn that began without thinking goes on without', () => {
  for (const settings of [{ providerOptions: on }, { reasoning: 'high' } as const]) {
    const permitted = withPermittedThinking(request(thoughtless, settings))
    expect(permitted).toEqual(request(thoughtless, { ...settings, providerOptions: off }))
  }
})

test('P6 words before the calls count as the begin of the turn', () => {
  const words: LanguageModelV4Message = { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] }
  const prompt = [question, words, thought, result]
  expect(withPermittedThinking({ prompt, providerOptions: on })).toEqual({
    prompt: [question, words, thoughtless, result],
    providerOptions: off,
  })
})

test('P6 thinking is not shown where it is off', () => {
  for (const settings of [{ providerOptions: off }, { reasoning: 'none' } as const])
    expect(withPermittedThinking(request(thought, settings)).prompt).toEqual([question, thoughtless, result])
})

test('P6 a model that chooses by itself is left alone', () => {
  const adaptive = { providerOptions: { anthropic: { thinking: { type: 'adaptive' } } } }
  for (const settings of [adaptive, {}])
    expect(withPermittedThinking(request(thoughtless, settings))).toEqual(request(thoughtless, settings))
})
