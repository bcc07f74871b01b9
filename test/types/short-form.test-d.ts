import { expectTypeOf, test } from 'vitest'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { dynamicTool, jsonSchema, tool } from 'ai'
import { z } from 'zod'

import { agent, defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import type {
  AgentName,
  LanguageModelProvider,
  ModelName,
  Registry,
  ToolInput,
  ToolName,
} from '../../src/index.js'

declare const model: LanguageModelV4
declare const provider: LanguageModelProvider

const refund = defineTool({
  description: 'Refunds.',
  args: z.object({ order: z.string() }),
  execute: (_state, { order }) => ({ status: 'success', result: order.trim() }),
})
const researcher = agent({ name: 'researcher', model, instructions: 'Research.' })

test('an agent keeps its name, and a registry knows the agents that it is given', () => {
  const support = agent({
    name: 'support',
    model,
    instructions: 'Help.',
    tools: { refund },
    subagents: { researcher },
  })
  expectTypeOf(support.name).toEqualTypeOf<'support'>()
  const all = registry({ agents: [support] })
  expectTypeOf<AgentName<typeof all>>().toEqualTypeOf<'support'>()
  expectTypeOf<ModelName<typeof all>>().toEqualTypeOf<string>()
})

test('both forms stand in one registry, and names of the standard form are still checked', () => {
  const chat = defineModel({ name: 'chat', provider, model: 'large' })
  const desk = definePrompt({
    name: 'desk',
    toolDescription: 'A desk',
    prompt: '',
    model: 'chat',
    tools: ['researcher'],
  })
  const support = defineAgent({ name: 'support', sideA: { prompt: 'desk' } })
  const all = registry({ agents: [support, researcher], prompts: [desk], models: [chat] })
  expectTypeOf<AgentName<typeof all>>().toEqualTypeOf<'support' | 'researcher'>()
  // @ts-expect-error lists the tool 'researcher', which is not registered
  registry({ agents: [support], prompts: [desk], models: [chat] })
})

test('agents that hand over to each other need no annotation', () => {
  const billing = agent({ name: 'billing', model, instructions: 'Bills.', handoffs: () => ({ desk }) })
  const desk = agent({ name: 'desk', model, instructions: 'Desk.', handoffs: () => ({ billing }) })
  expectTypeOf(desk.name).toEqualTypeOf<'desk'>()
})

test('fields that no agent has do not compile', () => {
  // @ts-expect-error instruction is not a field
  agent({ name: 'support', model, instruction: 'Help.' })
  // @ts-expect-error a tool is an object, not a name
  agent({ name: 'support', model, instructions: 'Help.', tools: { refund: 'refund' } })
})

test('tools of the AI SDK and of other schema libraries keep their types', () => {
  const weather = tool({
    description: 'The weather.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ city, sky: 'grey' }),
  })
  const shown = tool({
    description: 'Asks.',
    inputSchema: jsonSchema<{ what: string }>({ type: 'object' }),
    outputSchema: z.string(),
  })
  const dynamic = dynamicTool({ description: 'Any.', inputSchema: z.object({}), execute: async () => 'x' })
  agent({ name: 'guide', model, instructions: '', tools: { weather, shown, dynamic, refund } })
  defineTool({
    description: 'Asks.',
    args: jsonSchema<{ what: string }>({ type: 'object' }),
    execute: (_state, { what }) => what.trim(),
  })
  defineTool({
    description: 'Asks.',
    args: z.record(z.string(), z.number()),
    execute: (_state, args) => args['a']?.toFixed(0),
  })
})

test('the output of an agent is the type of run.output', async () => {
  const output = z.object({ order: z.string(), euros: z.number().default(0) })
  const bills = agent({ name: 'bills', model, instructions: '', output })
  const bare = registry({ agents: [researcher] })
  const typed = registry({ agents: [bills, researcher] })
  type Result<R extends Registry<string, string, unknown>> = Awaited<
    ReturnType<ThreadHandle<R>['waitUntilIdle']>
  >
  expectTypeOf<Result<typeof typed>['output']>().toEqualTypeOf<{ order: string; euros: number } | null>()
  expectTypeOf<Result<typeof bare>['output']>().toEqualTypeOf<null>()
  expectTypeOf<Result<Registry>['output']>().toEqualTypeOf<unknown>()
  // @ts-expect-error an output is a schema
  agent({ name: 'bills', model, instructions: '', output: { order: 'string' } })
})

test('a registry knows the tools of its agents and what callers write for them', () => {
  const weather = tool({ description: 'The weather.', inputSchema: z.object({}), execute: () => 'grey' })
  const support = agent({ name: 'support', model, instructions: '', tools: { refund, weather } })
  const all = registry({ agents: [support, researcher] })
  expectTypeOf<ToolName<typeof all>>().toEqualTypeOf<'refund' | 'weather'>()
  expectTypeOf<ToolInput<typeof all, 'refund'>>().toEqualTypeOf<{ order: string }>()
})

test('a schema of Standard Schema counts, with its types', () => {
  const args = null as unknown as StandardSchemaV1<unknown, { city: string }> & StandardJSONSchemaV1
  defineTool({ description: 'Asks.', args, execute: (_state, { city }) => city.trim() })
})
