import { createOpenAI, openai } from '@ai-sdk/openai'
import { expect, test } from 'vitest'

import { ConfigError } from '../../protocol/errors.js'
import { defineModel } from '../model.js'
import type { ModelDefinition } from '../model.js'
import { createPriceList } from '../prices/model-prices.js'
import { registry } from '../registry.js'
import { agent } from './agent.js'
import { isSameModel, readModel } from './agent-model.js'

const other = createOpenAI({ apiKey: 'other' })

function definition(given: unknown): ModelDefinition {
  const read = readModel(given, 'own')
  if ('problem' in read || read.definitions[0] === undefined) throw new Error('Expected a model.')
  return read.definitions[0]
}

test('models of one account are one model, of two accounts two', () => {
  expect(isSameModel(definition(openai('gpt-5-mini')), definition(openai('gpt-5-mini')))).toBe(true)
  expect(isSameModel(definition(openai('gpt-5-mini')), definition(other('gpt-5-mini')))).toBe(false)
  const one = agent({ name: 'one', model: openai('gpt-5-mini'), instructions: '' })
  const two = agent({ name: 'two', model: openai('gpt-5-mini'), instructions: '' })
  const three = agent({ name: 'three', model: other('gpt-5-mini'), instructions: '' })
  const named = agent({
    name: 'named',
    model: { model: other('gpt-5-mini'), name: 'other' },
    instructions: '',
  })
  expect(registry({ agents: [one, two] }).names().models).toEqual(['gpt_5_mini'])
  expect(registry({ agents: [one, named] }).names().models).toEqual(['gpt_5_mini', 'other'])
  expect(() => registry({ agents: [one, three] })).toThrow(
    new ConfigError([
      "agent 'three' has the model 'gpt_5_mini', which is not the model 'gpt_5_mini' of agent 'one': use one object for both, or give one of them a name: model: { model, name: 'other' }",
    ]),
  )
})

test('models of one account share a provider, by which limits and pauses are counted', () => {
  expect(definition(openai('gpt-5')).provider).toBe(definition(openai('gpt-5-mini')).provider)
  expect(definition(openai('gpt-5')).provider).not.toBe(definition(other('gpt-5')).provider)
  expect(definition(openai('gpt-5')).provider.languageModel('gpt-5').modelId).toBe('gpt-5')
})

test('a model has the price of its provider and id', () => {
  const prices = createPriceList()
  const standard = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })
  expect(prices(definition(openai('gpt-5-mini')))).toEqual(prices(standard))
  expect(prices(standard).inputPrice).toBeGreaterThan(0)
})

test('a model has settings and fallbacks', () => {
  const model = { model: openai('gpt-5-mini'), fallbacks: [openai('gpt-5')], inputPrice: 1, outputPrice: 2 }
  const plain = agent({ name: 'plain', model: openai('gpt-5-mini'), instructions: '' })
  const made = registry({ agents: [agent({ name: 'support', model, instructions: '' }), plain] })
  expect(made.prompt('support_prompt')?.model).toBe('support_gpt_5_mini')
  expect(made.model('support_gpt_5_mini')).toMatchObject({
    model: 'gpt-5-mini',
    fallbacks: ['gpt_5'],
    inputPrice: 1,
  })
  expect(made.names().models).toEqual(['support_gpt_5_mini', 'gpt_5', 'gpt_5_mini'])
})

test('what is no model says what was expected', () => {
  const expected = expect.stringContaining("expected a model of the AI SDK, such as openai('gpt-5-mini')")
  expect(readModel(7, 'own')).toEqual({ problem: expected })
  expect(readModel({ model: 'gpt-5' }, 'own')).toEqual({ problem: expected })
  expect(readModel({ model: openai('gpt-5'), fallbacks: [7] }, 'own')).toEqual({ problem: expected })
  expect(readModel({ modelId: 'old', specificationVersion: 'v2' }, 'own')).toEqual({
    problem: expect.stringContaining('specification v4, got v2'),
  })
})
