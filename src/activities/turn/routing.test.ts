import { expect, test } from 'vitest'

import type { ModelDefinition } from '../../definitions/model.js'
import { buildPlan } from '../../definitions/plan/build-plan.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { promptNamed } from '../../definitions/plan/plan-content.js'
import { registry } from '../../definitions/registry.js'
import { ModelError } from '../../model/model-error.js'
import { nextModel, routeOf } from './routing.js'

const provider = { languageModel: () => ({}) as never }
const blind = { capabilities: { supportsImages: false } }
const MODELS: Readonly<Record<string, Partial<ModelDefinition>>> = {
  chat: { ...blind, fallbacks: ['first', 'second', 'third'] },
  first: blind,
  second: blind,
  third: {},
}

const known = registry({
  models: Object.entries(MODELS).map(([name, rest]) => ({ provider, model: 'm', ...rest, name })),
  prompts: [{ name: 'clerk', toolDescription: 'Answers', prompt: 'You are the clerk.', model: 'chat' }],
  agents: [{ name: 'clerk', sideA: { prompt: 'clerk' } }],
} as never)
const content = buildPlan(known, 'clerk') as PlanContent
const route = routeOf(known, { content, prompt: promptNamed(content, 'clerk') }, 'reply')

/** The order in which the models are called, all of which fail, for a request that shows these files. */
function order(...shows: readonly 'images'[]): readonly string[] {
  const names: string[] = []
  for (;;) {
    const error = new ModelError({ kind: 'unknown', message: 'No.', retryable: false })
    const request = names.length === 0 ? null : { shows, estimatedTokens: 9 }
    const next = nextModel(route, { failures: names.map((model) => ({ model, error })), request })
    if (next === null) return names
    names.push(next.name)
  }
}

test('the prompt’s model is the first, and each is called once', () => {
  expect(order()).toEqual(['chat', 'first', 'second', 'third'])
})

test('fallbacks that lack something come last, in their order', () => {
  expect(order('images')).toEqual(['chat', 'third', 'first', 'second'])
})
