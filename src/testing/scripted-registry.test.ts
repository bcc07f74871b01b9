import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineAgent,
  defineEffect,
  defineHook,
  defineModel,
  definePrompt,
  defineRemoteTool,
  defineTool,
  registry,
} from '../index.js'
import type { ThreadState, ToolCall } from '../index.js'
import { scriptedModel } from '../model/scripted-model.js'
import { ConfigError } from '../protocol/errors.js'
import { scriptedRegistry } from './scripted-registry.js'

const provider = {
  languageModel(): never {
    throw new Error('Expected no test to reach a provider.')
  },
}
const desk = registry({
  models: [
    defineModel({ name: 'chat', provider, model: 'x', inputPrice: 2, fallbacks: ['spare'] }),
    defineModel({ name: 'spare', provider, model: 'z' }),
    defineModel({ name: 'review', provider, model: 'y' }),
  ],
  prompts: [
    definePrompt({
      name: 'clerk',
      toolDescription: 'Answers',
      prompt: 'Hi',
      model: 'chat',
      tools: ['count'],
    }),
  ],
  hooks: [defineHook({ hook: 'after_create_message', id: 'mark', execute: () => undefined })],
  effects: { remind: defineEffect('Reminds', () => undefined) },
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  tools: {
    count: defineTool({
      description: 'Counts',
      args: z.object({ from: z.number().default(1) }),
      execute: () => ({ status: 'success', result: 'real' }),
    }),
  },
})
const elsewhere = registry({
  models: [defineModel({ name: 'chat', provider, model: 'x', taskQueue: 'models' })],
  prompts: [],
  agents: [],
  tools: {
    near: defineTool({ description: 'Near', taskQueue: 'gpu', execute: () => ({ status: 'success' }) }),
    far: defineRemoteTool({ description: 'Far', taskQueue: 'python', activity: 'far' }),
  },
})
const chat = scriptedModel([])
const review = scriptedModel([])
const spare = scriptedModel([])

test('scripted models stand in for the providers', () => {
  const scripted = scriptedRegistry(desk, { models: { chat, review, spare } })
  const definition = scripted.model('chat')
  expect(definition?.provider.languageModel('x')).toBe(chat)
  expect(definition?.inputPrice).toBe(2)
  expect(scripted.model('nobody')).toBeUndefined()
  expect(scripted.model('chat')).toBe(definition)
  expect(definition?.fallbacks).toEqual(['spare'])
  expect(scripted.model('spare')?.provider.languageModel('z')).toBe(spare)
  expect(scripted.tool('count')).toBe(desk.tool('count'))
})

test('a faked tool keeps its schema and gets its arguments', async () => {
  const scripted = scriptedRegistry(desk, {
    models: { chat, review, spare },
    tools: { count: ({ from }) => ({ status: 'success', result: from + 1 }) },
  })
  const tool = scripted.tool('count')
  expect(tool?.args).toBe(desk.tool('count')?.args)
  const state = {} as ThreadState
  const call: ToolCall = {
    id: 'call_1_1_0',
    attempt: 1,
    idempotencyKey: 'key',
    progress: () => undefined,
    output: () => undefined,
  }
  expect(await tool?.execute(state, { from: 4 }, call)).toEqual({ status: 'success', result: 5 })
})

test('hooks and effects stay, and a fake may answer later', async () => {
  const scripted = scriptedRegistry(desk, {
    models: { chat, review, spare },
    tools: { count: () => ({ status: 'pending' }) },
  })
  expect(scripted.hook('mark')).toBe(desk.hook('mark'))
  expect(scripted.effect('remind')).toBe(desk.effect('remind'))
  const call: ToolCall = {
    id: 'call_1_1_0',
    attempt: 1,
    idempotencyKey: 'key',
    progress: () => undefined,
    output: () => undefined,
  }
  expect(await scripted.tool('count')?.execute({} as ThreadState, {}, call)).toEqual({ status: 'pending' })
})

test('what is not scripted or not registered is named', () => {
  const replacements = { models: { chat, rewiev: review }, tools: { coutn: () => ({ status: 'success' }) } }
  try {
    scriptedRegistry(desk, replacements as never)
    expect.fail('Expected a ConfigError.')
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    expect(error.problems).toEqual([
      'Expected a scripted model for "spare", got none: add it to "models".',
      'Expected a scripted model for "review", got none: add it to "models".',
      'Expected models of the registry only, got "rewiev".',
      'Expected tools of the registry only, got "coutn".',
    ])
  }
})

test('what runs elsewhere runs in the worker of the test', () => {
  const models = { chat: scriptedModel([]) }
  const far = () => ({ status: 'success' }) as const
  const scripted = scriptedRegistry(elsewhere, { models, tools: { far } })
  expect(scripted.model('chat')).not.toHaveProperty('taskQueue')
  expect(scripted.tool('near')).not.toHaveProperty('taskQueue')
  expect(scripted.tool('far')).not.toHaveProperty('remote')
  // Without a fake the tool stays remote: tests may run a worker in that language.
  expect(scriptedRegistry(elsewhere, { models }).tool('far')).toMatchObject({ remote: { activity: 'far' } })
})
