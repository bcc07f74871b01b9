import { expect, test } from 'vitest'
import { definedPrices } from '../definitions/prices/defined-prices.js'
import { defineAgent, defineModel, definePrompt, registry } from '../index.js'
import { scriptedModel } from '../model/scripted-model.js'
import { checkPricesOfBudgets } from './budget-prices.js'

const provider = { languageModel: () => scriptedModel([]) }
const dear = { inputPrice: 1, outputPrice: 2 }
const of = (budget?: { maxCost?: number; maxSteps?: number }) =>
  registry({
    models: [
      defineModel({ name: 'priced', provider, model: 'm', ...dear, fallbacks: ['free'] }),
      defineModel({ name: 'free', provider, model: 'n' }),
      defineModel({ name: 'other', provider, model: 'o', ...dear }),
    ],
    prompts: [
      definePrompt({ name: 'p', toolDescription: 'P', model: 'priced', prompt: 'P' }),
      definePrompt({ name: 'q', toolDescription: 'Q', model: 'other', prompt: 'Q' }),
    ],
    agents: [
      defineAgent({ name: 'a', sideA: { prompt: 'p' }, ...(budget !== undefined && { budget }) }),
      defineAgent({ name: 'b', sideA: { prompt: 'q' } }),
    ],
  })

const SENTENCE =
  'Expected prices of the model "free", because a budget limits the cost of the agent "a", got none'

test('a limit of the cost needs prices of all models, those of fallbacks too, and names each that has none', () => {
  const prices = definedPrices
  expect(() => checkPricesOfBudgets({ registry: of({ maxCost: 1 }), prices })).toThrow(SENTENCE)
  for (const budgets of [{ run: { maxCost: 1 } }, { thread: { maxCost: 1 } }, { tree: { maxCost: 1 } }])
    expect(() => checkPricesOfBudgets({ registry: of(), budgets, prices })).toThrow(SENTENCE)
})

test('other limits need none, and prices of the worker count', () => {
  const budgets = { run: { maxSteps: 1 }, tree: { maxInputTokens: 1 } }
  checkPricesOfBudgets({ registry: of({ maxSteps: 1 }), budgets, prices: definedPrices })
  const prices = () => ({ inputPrice: 1, outputPrice: 1, cachedPrice: null })
  checkPricesOfBudgets({ registry: of({ maxCost: 1 }), budgets: { run: { maxCost: 1 } }, prices })
})
