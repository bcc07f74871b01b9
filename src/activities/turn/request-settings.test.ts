import { expect, test } from 'vitest'

import type { ModelContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { outputInstruction, requestSettings } from './request-settings.js'

type Asking = Parameters<typeof requestSettings>[0]

const inputSchema = { type: 'object', properties: {} } as const
// Only the fields that a request needs.
const prompt = {
  name: 'desk',
  model: 'chat',
  toolChoice: 'auto',
  parallelToolCalls: false,
  reasoning: null,
  tools: [{ name: 'look', description: 'Looks', inputSchema }],
} as unknown as PromptContent & { readonly name: string }
const model = {
  supportsToolCalls: true,
  maxOutputTokens: null,
  reasoningLevels: {},
} as unknown as ModelContent
const input = { threadId: 't', side: 'a' } as Asking['input']

function settings(promptPart: Partial<PromptContent>, modelPart: Partial<ModelContent> = {}) {
  return requestSettings({ input, prompt: { ...prompt, ...promptPart }, model: { ...model, ...modelPart } })
}

const origin = { prompt: 'desk', side: 'a', threadId: 't' }
const oneByOne = { openai: { parallelToolCalls: false }, anthropic: { disableParallelToolUse: true } }

test('SA-R-04.3 a request has the tools and limits of prompt and model', () => {
  expect(settings({ toolChoice: 'required' }, { maxOutputTokens: 900 })).toEqual({
    tools: [{ type: 'function', name: 'look', description: 'Looks', inputSchema }],
    toolChoice: { type: 'required' },
    maxOutputTokens: 900,
    providerOptions: { ...oneByOne, everthread: origin },
  })
})

test('without tools nothing is said of them', () => {
  const none = { providerOptions: { everthread: origin } }
  expect(settings({ tools: [] })).toEqual(none)
  expect(settings({}, { supportsToolCalls: false })).toEqual(none)
})

test('parallel calls are turned off unless they are asked for', () => {
  expect(settings({ parallelToolCalls: true }).providerOptions).toEqual({ everthread: origin })
})

test.each([
  ['low', {}, 'low'],
  ['high', { 0: 'none', 50: 'medium', 100: 'xhigh' }, 'xhigh'],
  ['low', { 0: 'minimal', 66: 'high' }, 'minimal'],
  ['medium', { 50: 'thinking-hard' }, 'medium'],
] as const)('effort %s with the levels %j is %s', (effort, reasoningLevels, expected) => {
  expect(settings({ reasoning: { effort } }, { reasoningLevels }).reasoning).toBe(expected)
})

test('reasoning is bounded and left out as the prompt says', () => {
  expect(settings({ tools: [], reasoning: { maxTokens: 2048, exclude: true } })).toEqual({
    providerOptions: {
      anthropic: { thinking: { type: 'enabled', budgetTokens: 2048 } },
      openai: { reasoningSummary: null },
      everthread: origin,
    },
  })
})

test('options of the prompt override those of the model', () => {
  const { providerOptions } = settings(
    { providerOptions: { openai: { user: 'prompt' }, xai: { search: true } } },
    { providerOptions: { openai: { user: 'model', parallelToolCalls: true, store: false } } },
  )
  expect(providerOptions).toEqual({
    openai: { user: 'prompt', parallelToolCalls: true, store: false },
    anthropic: { disableParallelToolUse: true },
    xai: { search: true },
    everthread: origin,
  })
})

test('the form of an answer is a schema of the request, or words for a model that takes none', () => {
  const output = { type: 'object', properties: {} } as const
  const asking = { input, prompt: { ...prompt, tools: [] }, model, output }
  expect(requestSettings(asking)).toMatchObject({
    responseFormat: { type: 'json', name: 'output', schema: output },
  })
  expect(outputInstruction(asking)).toBe('')
  const plain = { ...asking, model: { ...model, supportsJsonMode: false as const } }
  expect(requestSettings(plain)).not.toHaveProperty('responseFormat')
  expect(outputInstruction(plain)).toContain('JSON Schema: {"type":"object","properties":{}}')
  expect(outputInstruction({ model })).toBe('')
})
