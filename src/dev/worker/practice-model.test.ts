import { createOpenAI } from '@ai-sdk/openai'
import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt, registry } from '../../index.js'
import { scriptedModel } from '../../model/scripted-model.js'
import type { ScriptedRequest } from '../../model/scripted-request.js'
import { dropEmptyKeys, practiceAnswer, withPracticeModel } from './practice-model.js'

const ORDER = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
const REFUND = {
  type: 'object',
  properties: { order: { type: 'string' }, euros: { type: 'number' }, note: { type: 'string' } },
  required: ['order', 'euros'],
}
const tools = [
  { name: 'look_up_order', description: null, inputSchema: ORDER },
  { name: 'refund', description: null, inputSchema: REFUND },
]
const says = (text: string, role: 'user' | 'tool' = 'user', raw: object = {}) =>
  practiceAnswer({ messages: [{ role, text }], tools, raw } as unknown as ScriptedRequest)

test('a tool is called when all words of its name are written, with what the text has for its arguments', () => {
  expect(says('Please look up order A-17').toolCalls).toEqual([
    { name: 'look_up_order', args: { order: 'A-17' } },
  ])
  expect(says('refund A-17, 20.5 euros').toolCalls).toEqual([
    { name: 'refund', args: { order: 'A-17', euros: 20.5 } },
  ])
  expect(says('refund 17').toolCalls).toEqual([{ name: 'refund', args: { order: '17', euros: 1 } }])
})

test('else it says what it is and what it can do, or a long story, or what the tool said', () => {
  expect(says('Hello').text).toContain('"look up order", "refund"')
  expect(says('Hello').text).toContain('no key of a provider is set')
  expect((says('Tell me a long story').text ?? '').split(' ').length).toBeGreaterThan(150)
  expect(says('20 euros are refunded.', 'tool').text).toContain('20 euros are refunded.')
})

test('where an answer has to be JSON it fits the schema', () => {
  const json = { responseFormat: { type: 'json', schema: REFUND } }
  expect(JSON.parse(says('Hello A-17', 'user', json).text ?? '')).toEqual({ order: 'A-17', euros: 1 })
  expect(JSON.parse(says('Paid 20', 'tool', json).text ?? '')).toEqual({ order: '20', euros: 1 })
})

test('a key that is set to nothing is none', () => {
  const environment = { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: 'k', OTHER: '' }
  dropEmptyKeys(environment)
  expect(environment).toEqual({ ANTHROPIC_API_KEY: 'k', OTHER: '' })
})

test('only a model whose provider finds no key is replaced', async () => {
  const { OPENAI_API_KEY: before } = process.env
  delete process.env['OPENAI_API_KEY']
  const own = scriptedModel([{ text: 'Mine' }])
  const names = ['keyless', 'keyed', 'own'] as const
  const made = registry({
    models: [
      defineModel({ name: 'keyless', provider: createOpenAI(), model: 'm' }),
      defineModel({ name: 'keyed', provider: createOpenAI({ apiKey: 'k' }), model: 'm' }),
      defineModel({ name: 'own', provider: { languageModel: () => own }, model: 'm' }),
    ],
    prompts: names.map((name) => definePrompt({ name, toolDescription: 'P', model: name, prompt: 'P' })),
    agents: names.map((name) => defineAgent({ name, sideA: { prompt: name } })),
  })
  const { registry: practising, isPractising } = await withPracticeModel(made)
  if (before !== undefined) process.env['OPENAI_API_KEY'] = before
  const providerOf = (name: string) => practising.model(name)?.provider.languageModel('m').provider
  expect(isPractising).toBe(true)
  expect(names.map(providerOf)).toEqual(['scripted', 'openai.responses', 'scripted'])
  expect(practising.model('own')?.provider.languageModel('m')).toBe(own)
  expect(own.remaining).toBe(1)
})
