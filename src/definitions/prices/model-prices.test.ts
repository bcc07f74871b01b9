import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { describe, expect, test } from 'vitest'

import { ConfigError } from '../../protocol/errors.js'
import { defineModel } from '../model.js'
import type { LanguageModelProvider } from '../model.js'
import { createPriceList } from './model-prices.js'
import type { GivenPrices } from './model-prices.js'
import { pricesInTable } from './price-table.js'

const openai = createOpenAI({ apiKey: 'none' })
const keyless: LanguageModelProvider = {
  languageModel() {
    throw new Error('Expected a key.')
  },
}
const NONE = { inputPrice: null, outputPrice: null, cachedPrice: null }
const MINI = { inputPrice: 0.25, outputPrice: 2, cachedPrice: 0.025 }

const model = (provider: LanguageModelProvider, id: string, own: object = {}) =>
  defineModel({ name: 'chat', provider, model: id, ...own })

describe('the table has the prices of', () => {
  test.each<readonly [string, LanguageModelProvider, string, object]>([
    ['OpenAI', openai, 'gpt-5-mini', MINI],
    ['OpenAI, by an id with its date', openai, 'gpt-5-mini-2025-08-07', MINI],
    ['OpenAI, by a date without dashes', openai, 'gpt-5-mini-20250807', MINI],
    [
      'Anthropic',
      createAnthropic({ apiKey: 'none' }),
      'claude-haiku-4-5-20251001',
      { inputPrice: 1, outputPrice: 5, cachedPrice: 0.1 },
    ],
    [
      'Google, more for a long input',
      createGoogleGenerativeAI({ apiKey: 'none' }),
      'gemini-2.5-pro',
      {
        ...{ inputPrice: 1.25, outputPrice: 10, cachedPrice: 0.125 },
        longInput: { above: 200_000, inputPrice: 2.5, outputPrice: 15, cachedPrice: 0.25 },
      },
    ],
  ])('%s', (_who, provider, id, prices) => {
    expect(createPriceList()(model(provider, id))).toEqual(prices)
  })

  test.each([
    ['azure.responses', 'gpt-5-mini'],
    ['azure.chat', 'GPT-5-mini'],
    ['gateway', 'openai/gpt-5-mini'],
  ])('a model that %s serves', (provider, id) => {
    expect(pricesInTable(provider, id)).toEqual(MINI)
  })

  test.each([
    ['googleVertex.anthropic.messages', 'claude-sonnet-4-5@20250929'],
    ['amazon-bedrock', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
    ['xai.responses', 'grok-4'],
    ['togetherai.chat', 'meta-llama/Llama-3.3-70B-Instruct-Turbo'],
    ['mistral.chat', 'mistral-large-latest'],
    ['groq.chat', 'llama-3.3-70b-versatile'],
    ['deepseek.chat', 'deepseek-chat'],
  ])('%s %s', (provider, id) => {
    const prices = pricesInTable(provider, id)
    expect(prices?.inputPrice).toBeGreaterThan(0)
    expect(prices?.outputPrice).toBeGreaterThan(0)
  })
})

describe('unknown, and never zero, are the prices of', () => {
  test.each<readonly [string, LanguageModelProvider, string]>([
    ['an id that the table does not have', openai, 'gpt-99'],
    ['a beginning of an id', openai, 'gpt-5-min'],
    ['a model that is billed by time', openai, 'whisper-1'],
    ['a model that is free of charge', createGoogleGenerativeAI({ apiKey: 'none' }), 'gemma-3-27b-it'],
    [
      'a provider that the table does not have',
      createOpenAICompatible({ name: 'home', baseURL: 'http://localhost' }),
      'gpt-5-mini',
    ],
    ['a provider that makes no model without its key', keyless, 'gpt-5-mini'],
    ['a model without the name of its provider', { languageModel: () => ({}) as never }, 'gpt-5-mini'],
  ])('%s', (_what, provider, id) => {
    expect(createPriceList()(model(provider, id))).toEqual(NONE)
  })
})

test('prices of the definition count, whole, and no model is made for them', () => {
  const prices = createPriceList({ 'gpt-5-mini': { inputPrice: 7, outputPrice: 7 } })
  expect(prices(model(openai, 'gpt-5-mini', { inputPrice: 1 }))).toEqual({ ...NONE, inputPrice: 1 })
  expect(prices(model(keyless, 'gpt-5-mini', { cachedPrice: 1 }))).toEqual({ ...NONE, cachedPrice: 1 })
})

test('prices of the worker stand in the place of those of the table, and null makes them unknown', () => {
  const longInput = { above: 1000, inputPrice: 2, outputPrice: 4 }
  const prices = createPriceList({
    'gpt-5-mini': { inputPrice: 1, outputPrice: 3 },
    'gpt-5-nano': null,
    own: { inputPrice: 1, outputPrice: 2, cachedPrice: 0, longInput },
  })
  expect(prices(model(openai, 'gpt-5-mini'))).toEqual({ inputPrice: 1, outputPrice: 3, cachedPrice: null })
  expect(prices(model(openai, 'gpt-5-nano'))).toEqual(NONE)
  expect(prices(model(keyless, 'own'))).toEqual({
    ...{ inputPrice: 1, outputPrice: 2, cachedPrice: 0 },
    longInput: { ...longInput, cachedPrice: null },
  })
  expect(prices(model(openai, 'gpt-5')).inputPrice).toBe(1.25)
})

test('each wrong price is named at once', () => {
  const given = {
    a: { inputPrice: '1', outputPrice: Number.NaN },
    b: { inputPrice: 1, outputPrice: -1, cached: 2 },
    c: 5,
    d: { inputPrice: 1, outputPrice: 1, cachedPrice: null, longInput: { above: 0.5, inputPrice: 1 } },
    e: { inputPrice: 1, outputPrice: 1, longInput: 3 },
  }
  const problems = [
    `Expected prices['a'].inputPrice to be US dollars per million tokens, got "1".`,
    `Expected prices['a'].outputPrice to be US dollars per million tokens, got NaN.`,
    `Expected fields of prices['b'] to be among inputPrice, outputPrice, cachedPrice, got cached.`,
    `Expected prices['b'].outputPrice to be US dollars per million tokens, got -1.`,
    `Expected prices['c'] to be { inputPrice, outputPrice } or null, got 5.`,
    `Expected prices['d'].cachedPrice to be US dollars per million tokens, got null.`,
    `Expected prices['d'].longInput.above to be a whole number of tokens from 1, got 0.5.`,
    `Expected prices['d'].longInput.outputPrice to be US dollars per million tokens, got undefined.`,
    `Expected prices['e'].longInput to be { above, inputPrice, outputPrice }, got 3.`,
  ]
  expect(problemsOf(given as unknown as GivenPrices)).toEqual(problems)
  expect(problemsOf([] as unknown as GivenPrices)).toEqual([
    `Expected prices to be an object, { 'id of the model': { inputPrice, outputPrice } }, got a list.`,
  ])
})

function problemsOf(given: GivenPrices): readonly string[] {
  try {
    createPriceList(given)
    return []
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    return error.problems
  }
}
