import { openai } from '@ai-sdk/openai'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { ConfigError } from '../../protocol/errors.js'
import { defineAgent } from '../agent.js'
import { defineHook } from '../hook.js'
import { defineModel } from '../model.js'
import { definePrompt } from '../prompt.js'
import { registry } from '../registry.js'
import { defineTool } from '../tool.js'
import { agent, isAgent } from './agent.js'

const refund = defineTool({
  description: 'Refunds.',
  args: z.object({ order: z.string() }),
  execute: () => ({ status: 'success' }),
})
const base = { model: openai('gpt-5-mini'), instructions: 'Help.' }

function problems(make: () => unknown): readonly string[] {
  try {
    make()
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

test('an agent stands for an agent, a prompt, a model and tools', () => {
  const mask = defineHook({ hook: 'after_system_message', id: 'mask', execute: () => undefined })
  const support = agent({
    ...{ ...base, name: 'support', tools: { refund }, maxSteps: 5, budget: { maxCost: 1 }, hooks: [mask] },
    ...{ parallelToolCalls: true, description: 'Helps.' },
  })
  const made = registry({ agents: [support] })
  expect(made.agent('support')).toEqual({
    ...{ name: 'support', description: 'Helps.', budget: { maxCost: 1 }, hooks: ['mask'] },
    sideA: { prompt: 'support_prompt', maxSteps: 5 },
  })
  expect(made.prompt('support_prompt')).toEqual({
    ...{ name: 'support_prompt', toolDescription: 'Helps.', prompt: 'Help.', model: 'gpt_5_mini' },
    ...{ includeChat: true, includePastTools: true, parallelToolCalls: true, tools: ['refund'] },
  })
  expect(made.tool('refund')).toBe(refund)
  expect(made.hook('mask')).toBe(mask)
  const model = made.model('gpt_5_mini')
  expect(model?.provider.languageModel('gpt-5-mini')).toBe(base.model)
  expect(made.warnings).toEqual([])
  expect(isAgent(support)).toBe(true)
  expect(isAgent(made.agent('support'))).toBe(false)
})

test('all that is reached over subagents and handoffs is collected, also in a circle', () => {
  const researcher = agent({ ...base, name: 'researcher', description: 'Researches.' })
  const billing = agent({
    ...base,
    name: 'billing',
    description: 'Bills.',
    tools: { refund },
    handoffs: () => ({ support }),
  })
  const support = agent({
    ...{ ...base, name: 'support', description: 'Helps.', handoffs: () => ({ billing }) },
    subagents: { researcher: { agent: researcher, fanOut: true } },
  })
  const made = registry({ agents: [support] })
  expect(made.names().agents).toEqual(['support', 'researcher', 'billing'])
  expect(made.names().models).toEqual(['gpt_5_mini'])
  expect(made.prompt('support_prompt')?.tools).toEqual([
    { name: 'researcher', fanOut: true, session: true },
    { name: 'billing', session: false },
  ])
  expect(made.agent('billing')?.exposeAsTool).toBe(true)
  expect(made.prompt('billing_prompt')?.tools).toEqual(['refund', { name: 'support', session: false }])
  expect(made.warnings).toEqual([])
})

test('both forms stand in one registry, and what both name is one definition', () => {
  const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5' })
  const desk = definePrompt({
    name: 'desk',
    toolDescription: 'Desk',
    prompt: '',
    model: 'chat',
    includeChat: true,
    tools: ['refund', { name: 'helper', session: true }],
  })
  const helper = agent({
    name: 'helper',
    description: 'Helps.',
    model: 'chat',
    instructions: [{ type: 'include', prompt: 'desk' }],
    tools: { refund },
  })
  const standard = defineAgent({ name: 'standard', sideA: { prompt: 'desk' } })
  const made = registry({ agents: [standard, helper], prompts: [desk], models: [chat], tools: { refund } })
  expect(made.names()).toMatchObject({
    agents: ['standard', 'helper'],
    prompts: ['desk', 'helper_prompt'],
    models: ['chat'],
    tools: ['refund'],
  })
  expect(made.agent('helper')?.exposeAsTool).toBe(true)
})

test('two different things under one name are one clear error', () => {
  const other = defineTool({ description: 'Another.', execute: () => ({ status: 'success' }) })
  const one = agent({ ...base, name: 'one', tools: { refund } })
  const two = agent({ ...base, name: 'two', tools: { refund: other } })
  const again = agent({ ...base, name: 'one' })
  expect(problems(() => registry({ agents: [one, two] }))).toEqual([
    "agent 'two' has the tool 'refund', which is not the tool 'refund' of agent 'one': give one of them another name",
  ])
  expect(problems(() => registry({ agents: [one, again] }))).toEqual([
    "agent 'one' is registered more than once",
    "prompt 'one_prompt' is registered more than once",
  ])
  const caller = agent({ ...base, name: 'caller', handoffs: { one }, subagents: { one: again } })
  expect(problems(() => registry({ agents: [caller] }))[0]).toBe(
    "agent 'caller' has the agent 'one', which is not the agent 'one' of agent 'caller': give one of them another name",
  )
})

test('wrong values of JavaScript are named with what to write', () => {
  const wrong = {
    ...{
      name: 'support',
      model: 7,
      instructions: 'Help.',
      instruction: '',
      tools: [refund],
      hooks: ['mask'],
    },
    ...{ subagents: { helper: {}, other: agent({ ...base, name: 'writer' }) } },
    handoffs: () => {
      throw new Error('too early')
    },
  }
  const found = problems(() => registry({ agents: [agent(wrong as never)] }))
  expect(found).toEqual(
    expect.arrayContaining([
      "agent 'support': handoffs: the function threw: too early",
      "agent 'support': subagents.helper: expected an agent of agent() or defineAgent()",
      "agent 'support': subagents.other is the agent 'writer', which is called by its name: write subagents: { writer }",
      "agent 'support' has the unknown field instruction: did you mean 'instructions'?",
      "agent 'support': model: expected a model of the AI SDK, such as openai('gpt-5-mini'), one of defineModel, or { model, fallbacks }",
      "agent 'support': tools: expected an object, by name: { my_name }",
      "agent 'support': hooks[0]: expected a hook of defineHook",
    ]),
  )
  expect(found).toHaveLength(7)
})

test('a text as model says what a model is, and one that is registered is taken', () => {
  const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5' })
  const named = (model: string) => agent({ ...base, name: 'support', model })
  const expected =
    "agent 'support': model: expected an object such as openai('gpt-5-mini') or the name of a model of the registry, got"
  expect(problems(() => registry({ agents: [named('gpt-5-mini')] }))).toEqual([
    `${expected} 'gpt-5-mini', which is not registered`,
  ])
  expect(problems(() => registry({ agents: [named('chatt')], models: [chat] }))).toEqual([
    `${expected} 'chatt', which is not registered: did you mean 'chat'?`,
  ])
  expect(registry({ agents: [named('chat')], models: [chat] }).names().models).toEqual(['chat'])
})

test('a getter that throws names its agent', () => {
  for (const field of ['model', 'subagents']) {
    const options = { ...base, name: 'support' }
    Object.defineProperty(options, field, {
      enumerable: true,
      get: () => {
        throw new Error('Boom')
      },
    })
    expect(problems(() => registry({ agents: [agent(options as never)] }))).toEqual([
      "agent 'support': expected fields that can be read, got one that throws: Boom",
    ])
  }
})

test('agents that are made anew at each call are told, and nothing runs for ever', () => {
  const sales = (): ReturnType<typeof agent> =>
    agent({ ...base, name: 'sales', handoffs: () => ({ support: support() }) })
  const support = (): ReturnType<typeof agent> =>
    agent({ ...base, name: 'support', handoffs: () => ({ sales: sales() }) })
  expect(problems(() => registry({ agents: [support()] }))).toEqual([
    "agent 'sales' has the agent 'support', which is not the agent 'support' of the registry: give one of them another name",
  ])
})

test('handoffs are no promise', () => {
  const later = async (): Promise<object> => ({ other: agent({ ...base, name: 'other' }) })
  expect(problems(() => registry({ agents: [agent({ ...base, name: 'one', handoffs: later })] }))).toEqual([
    "agent 'one': handoffs: expected an object, by name: { my_name }",
  ])
})
