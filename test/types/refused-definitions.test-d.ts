import { test } from 'vitest'
import { z } from 'zod'

import type { LanguageModelProvider } from '../../src/index.js'

import {
  defineAgent,
  defineEffect,
  defineHook,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'

declare const provider: LanguageModelProvider
declare const narrow: {
  languageModel(id: 'small' | 'large'): ReturnType<LanguageModelProvider['languageModel']>
}
declare const anyName: string

const chat = defineModel({ name: 'chat', provider, model: 'large' })
const desk = definePrompt({
  name: 'desk',
  toolDescription: 'A desk',
  prompt: '',
  model: 'chat',
  tools: ['look'],
})
const support = defineAgent({ name: 'support', sideA: { prompt: 'desk', stopTool: 'look' } })
const look = defineTool({ description: 'Looks.', execute: () => ({ status: 'success' }) })

test('names that are all registered compile', () => {
  registry({ agents: [support], prompts: [desk], models: [chat], tools: { look } })
})

test('a misspelled tool does not compile', () => {
  // @ts-expect-error lists the tool 'look', which is not registered
  registry({ agents: [support], prompts: [desk], models: [chat], tools: { loook: look } })
})

test('an unknown model does not compile', () => {
  const small = defineModel({ name: 'small', provider, model: 'small' })
  // @ts-expect-error uses the model 'chat', which is not registered
  registry({ agents: [support], prompts: [desk], models: [small], tools: { look } })
})

test('an unknown prompt does not compile', () => {
  // @ts-expect-error uses the prompt 'desk', which is not registered
  registry({ agents: [support], prompts: [], models: [chat], tools: { look } })
})

test('an unknown include does not compile', () => {
  const including = definePrompt({
    name: 'including',
    toolDescription: 'Includes',
    prompt: [{ type: 'include', prompt: 'tone' }],
    model: 'chat',
  })
  // @ts-expect-error includes the prompt 'tone', which is not registered
  registry({ agents: [], prompts: [including], models: [chat], tools: { look } })
})

test('an unknown subagent does not compile', () => {
  const calling = definePrompt({ ...desk, name: 'calling', tools: [{ name: 'research' }] })
  // @ts-expect-error lists the tool 'research', which is not registered
  registry({ agents: [], prompts: [calling], models: [chat], tools: { look } })
})

test('an unknown hook does not compile', () => {
  const hooked = definePrompt({ ...desk, name: 'hooked', hooks: ['mask'] })
  // @ts-expect-error lists the hook 'mask', which is not registered
  registry({ agents: [], prompts: [hooked], models: [chat], tools: { look } })
  const mask = defineHook({
    hook: 'before_create_message',
    id: 'mask',
    execute: (_state, message) => message,
  })
  registry({ agents: [], prompts: [hooked], models: [chat], tools: { look }, hooks: [mask] })
  // @ts-expect-error lists the hook 'mask', which is not registered
  registry({ agents: [{ ...support, hooks: ['mask'] }], prompts: [desk], models: [chat], tools: { look } })
})

test('an unknown fallback does not compile', () => {
  const small = defineModel({ name: 'small', provider, model: 'small', fallbacks: ['chat'] })
  registry({ agents: [], prompts: [], models: [small, chat] })
  // @ts-expect-error falls back to the model 'chat', which is not registered
  registry({ agents: [], prompts: [], models: [small] })
})

test('prompts and agents are tools of prompts', () => {
  const billing = defineAgent({
    name: 'billing',
    exposeAsTool: true,
    toolDescription: 'Bills',
    sideA: { prompt: 'desk' },
  })
  const tools = ['look', { name: 'desk', includeToolCalls: false }, 'billing', { name: 'billing' }] as const
  const calling = definePrompt({ ...desk, name: 'calling', tools })
  registry({ agents: [billing], prompts: [desk, calling], models: [chat], tools: { look } })
  // @ts-expect-error lists the tool 'billing', which is not registered
  registry({ agents: [], prompts: [desk, calling], models: [chat], tools: { look } })
})

test('a hook gets and answers what its point says', () => {
  defineHook({ hook: 'after_system_message', id: 'shout', execute: (_state, text) => text.toUpperCase() })
  // @ts-expect-error a hook after the system text answers a text
  defineHook({ hook: 'after_system_message', id: 'count', execute: (_state, text) => text.length })
  // @ts-expect-error there is no such hook point
  defineHook({ hook: 'tool_call_started', id: 'started', execute: () => undefined })
})

test('an effect gets its parsed arguments', () => {
  defineEffect('Asks.', z.object({ days: z.number().default(3) }), (_state, args) => {
    args.days.toFixed(0)
    // @ts-expect-error days is a number
    args.days.trim()
  })
  // @ts-expect-error a description comes first
  defineEffect((_state: unknown) => undefined)
})

test('a name known only as string compiles', () => {
  const dynamic = definePrompt({ ...desk, model: anyName, tools: [anyName] })
  registry({
    agents: [defineAgent({ name: anyName, sideA: { prompt: anyName } })],
    prompts: [dynamic],
    models: [],
  })
})

test('fields that no definition has do not compile', () => {
  // @ts-expect-error maxStep is not a field of a side
  defineAgent({ name: 'a', sideA: { prompt: 'desk', maxStep: 3 } })
})

test('SA-A-07.4a a subagent entry has the fields of its type', () => {
  const resumable = { receives_messages: 'side_b', maxInstances: 2, parentCommunication: 'explicit' } as const
  const immediate = { nameEnv: 'NAME', descriptionEnv: 'TASK', scopedEnv: ['TOKEN'] }
  definePrompt({
    ...desk,
    tools: [
      { name: 'research', blocking: false, optional: 'RESEARCH', resumable, immediate },
      { name: 'review', timeout: 1000, fanOut: true, immediate: true, resumable: false },
    ],
  })
  // @ts-expect-error optional is the name of a variable
  definePrompt({ ...desk, tools: [{ name: 'research', optional: true }] })
  // @ts-expect-error the field is called blocking
  definePrompt({ ...desk, tools: [{ name: 'research', block: false }] })
  // @ts-expect-error a resumable one says which side receives messages
  definePrompt({ ...desk, tools: [{ name: 'research', resumable: { maxInstances: 1 } }] })
  // @ts-expect-error sides are called side_a and side_b
  definePrompt({ ...desk, tools: [{ name: 'research', resumable: { receives_messages: 'a' } }] })
  // @ts-expect-error resumable is false or an object
  definePrompt({ ...desk, tools: [{ name: 'research', resumable: true }] })
  const loud = { receives_messages: 'side_a', parentCommunication: 'loud' } as const
  // @ts-expect-error communication is implicit or explicit
  definePrompt({ ...desk, tools: [{ name: 'research', resumable: loud }] })
  // @ts-expect-error names of variables come in a list
  definePrompt({ ...desk, tools: [{ name: 'research', immediate: { scopedEnv: 'TOKEN' } }] })
  // @ts-expect-error milliseconds are a number
  definePrompt({ ...desk, tools: [{ name: 'research', timeout: '1s' }] })
})

test('a model id that the provider lacks does not compile', () => {
  defineModel({ name: 'm', provider: narrow, model: 'small' })
  // @ts-expect-error the provider has no model of this id
  defineModel({ name: 'm', provider: narrow, model: 'huge' })
})

test('arguments are used as their schema says', () => {
  defineTool({
    description: 'Refunds.',
    args: z.object({ orderId: z.string(), amount: z.number().default(1) }),
    execute: (_state, args, call) => {
      args.amount.toFixed(2)
      call.idempotencyKey.trim()
      // @ts-expect-error amount is a number
      args.amount.trim()
      // @ts-expect-error there is no such argument
      return { status: 'success', result: args.order }
    },
  })
})

test('a tool answers a result or any value of JSON', () => {
  interface Order {
    readonly status: string
  }
  defineTool({ description: 'Looks.', execute: (): Order => ({ status: 'sent' }) })
  defineTool({ description: 'Looks.', execute: async () => 'It was sent.' })
  defineTool({ description: 'Does.', execute: () => undefined })
  // @ts-expect-error JSON has no such number
  defineTool({ description: 'Counts.', execute: () => 7n })
})
