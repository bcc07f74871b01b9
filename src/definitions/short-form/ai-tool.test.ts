import { openai } from '@ai-sdk/openai'
import type { JSONSchema7 } from '@ai-sdk/provider'
import { dynamicTool, jsonSchema, tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'

import { ConfigError } from '../../protocol/errors.js'
import { parseToolArguments } from '../plan/tool-arguments.js'
import { buildPlan } from '../plan/build-plan.js'
import { registry } from '../registry.js'
import type { ThreadState } from '../thread-state.js'
import type { ToolDefinition } from '../tool.js'
import { agent } from './agent.js'
import { isAiTool, readAiTool } from './ai-tool.js'
import type { AiTool } from './ai-tool.js'

const state = { execution: null } as ThreadState
const call = {
  id: 'call_1',
  attempt: 1,
  idempotencyKey: 'k',
  progress: () => undefined,
  output: () => undefined,
}
const inputSchema = z.object({ city: z.string(), days: z.number().default(1) })
const lasting = { description: 'The weather.', inputSchema }

function definitionOf(given: AiTool): ToolDefinition {
  const read = readAiTool(given)
  if ('problems' in read) throw new Error(read.problems.join())
  return read.tool
}

function made(tools: Readonly<Record<string, AiTool>>) {
  return registry({ agents: [agent({ name: 'guide', model: openai('gpt-5'), instructions: '', tools })] })
}

function problemsOf(given: AiTool): readonly string[] {
  try {
    made({ weather: given })
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

test('a tool of the AI SDK is a tool of an agent, with its schema, strictness and options', async () => {
  const weather = tool({
    ...lasting,
    strict: true,
    providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    execute: ({ city, days }, { toolCallId }) => ({ city, days, toolCallId }),
  })
  const all = made({ weather })
  const plan = buildPlan(all, 'guide')
  expect('prompts' in plan && plan.prompts['guide_prompt']?.tools).toEqual([
    {
      ...{ name: 'weather', description: 'The weather.', strict: true },
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      inputSchema: expect.objectContaining({ type: 'object', required: ['city'] }),
    },
  ])
  const definition = all.tool('weather')
  expect(parseToolArguments(definition ?? {}, '{"city":"Ulm"}')).toEqual({
    ok: true,
    args: { city: 'Ulm', days: 1 },
  })
  expect(parseToolArguments(definition ?? {}, '{"city":7}')).toMatchObject({ ok: false })
  expect(await definition?.execute(state, { city: 'Ulm', days: 1 } as never, call)).toEqual({
    status: 'success',
    result: { city: 'Ulm', days: 1, toolCallId: 'call_1' },
  })
  expect(made({ weather }).tool('weather')).toBe(definition)
  expect([isAiTool(weather), isAiTool(definition)]).toEqual([true, false])
})

test('an answer in the form of a result is a plain value', async () => {
  const weather = tool({ ...lasting, execute: () => ({ status: 'error', sky: 'grey' }) })
  expect(await definitionOf(weather).execute(state, {} as never, call)).toEqual({
    status: 'success',
    result: { status: 'error', sky: 'grey' },
  })
})

test('of a streamed output the last value counts', async () => {
  const weather = tool({
    ...lasting,
    async *execute() {
      yield 'looking'
      yield 'sunny'
    },
  })
  expect(await definitionOf(weather).execute(state, {} as never, call)).toEqual({
    status: 'success',
    result: 'sunny',
  })
})

test.each<readonly [string, unknown, unknown]>([
  ['a text', { type: 'text', value: 'sunny' }, { status: 'success', result: 'sunny' }],
  ['JSON', { type: 'json', value: [1] }, { status: 'success', result: [1] }],
  ['an error', { type: 'error-text', value: 'no' }, { status: 'error', error: 'no' }],
  ['an error of JSON', { type: 'error-json', value: [1] }, { status: 'error', error: '[1]' }],
  [
    'a denial',
    { type: 'execution-denied' },
    { status: 'error', error: 'The tool has denied the call.', error_code: 'denied' },
  ],
  [
    'parts',
    {
      type: 'content',
      value: [
        { type: 'text', text: 'A map' },
        { type: 'file', data: { type: 'data', data: 'aGk=' }, mediaType: 'image/png' },
      ],
    },
    {
      status: 'success',
      content: [
        { type: 'text', text: 'A map' },
        { type: 'file', file: { name: 'file.png', mimeType: 'image/png', data: 'aGk=' } },
      ],
    },
  ],
])('toModelOutput may make %s', async (_what, output, result) => {
  const weather = tool({ ...lasting, execute: () => 'x', toModelOutput: () => output as never })
  expect(await definitionOf(weather).execute(state, {} as never, call)).toEqual(result)
})

test('a part that only one provider could read is an error', async () => {
  const value = [
    { type: 'file', data: { type: 'url', url: new URL('https://x.example') }, mediaType: 'image/png' },
  ]
  const weather = tool({
    ...lasting,
    execute: () => 'x',
    toModelOutput: () => ({ type: 'content', value }) as never,
  })
  await expect(definitionOf(weather).execute(state, {} as never, call)).rejects.toThrow('cannot be stored')
})

test('needsApproval counts, and whatever is not false asks', async () => {
  const ask = tool({ ...lasting, execute: () => 'x', needsApproval: ({ days }) => days > 1 })
  const { needsApproval } = definitionOf(ask)
  expect(typeof needsApproval === 'function' && (await needsApproval(state, { days: 2 } as never))).toBe(true)
  expect(typeof needsApproval === 'function' && (await needsApproval(state, { days: 1 } as never))).toBe(
    false,
  )
  expect(definitionOf(tool({ ...lasting, execute: () => 'x', needsApproval: true })).needsApproval).toBe(true)
})

test('a tool without execute waits for an answer that fits its output schema', async () => {
  const given = tool({ ...lasting, outputSchema: z.object({ sky: z.string() }) })
  expect(await definitionOf(given).execute(state, {} as never, call)).toMatchObject({
    status: 'pending',
    form: { type: 'object', properties: { sky: { type: 'string' } } },
  })
})

test('a tool with a JSON Schema is checked by it, or by its own validate', () => {
  const properties = { city: { type: 'string' } } as const
  const schema: JSONSchema7 = { type: 'object', properties, required: ['city'] }
  const plain = made({
    weather: dynamicTool({ ...lasting, inputSchema: jsonSchema(schema), execute: () => 'x' }),
  })
  expect(parseToolArguments(plain.tool('weather') ?? {}, '{}')).toMatchObject({ ok: false })
  expect(parseToolArguments(plain.tool('weather') ?? {}, '{"city":"Ulm"}')).toEqual({
    ok: true,
    args: { city: 'Ulm' },
  })
  const validate = (value: unknown) => ({ success: true, value: { city: String(value) } }) as const
  const own = made({
    weather: tool({ ...lasting, inputSchema: jsonSchema(schema, { validate }), execute: () => 'x' }),
  })
  expect(parseToolArguments(own.tool('weather') ?? {}, '{}')).toEqual({
    ok: true,
    args: { city: '[object Object]' },
  })
})

test('what would be lost in silence is refused by name', () => {
  const refused = {
    ...{ ...lasting, execute: () => 'x', onInputStart: () => undefined, contextSchema: inputSchema },
    ...{ inputExamples: [], colour: 'red', description: () => 'x' },
  }
  const owner = "agent 'guide': the tool 'weather' of the AI SDK"
  expect(problemsOf(refused)).toEqual([
    `${owner} has onInputStart, which has no effect here: follow the events of the thread`,
    `${owner} has contextSchema, which has no effect here: give values to the thread as variables, and read them in a tool of defineTool`,
    `${owner} has inputExamples, which has no effect here: write examples into the descriptions of the schema`,
    `${owner} has colour, which has no effect here: leave it out`,
    `${owner} has a description that is a function: expected a text, which is the same in each step`,
  ])
  expect(problemsOf(openai.tools.webSearch() as AiTool)).toEqual([])
  const ours = { ...openai.tools.webSearch(), isProviderExecuted: false }
  expect(problemsOf(ours as unknown as AiTool)).toEqual([
    `${owner} is a tool of type 'provider', which its provider runs or defines: expected one with an execute of yours`,
  ])
  expect(problemsOf({ ...lasting, execute: 7 })).toEqual([`${owner} has an execute that is no function`])
  expect(problemsOf({ ...lasting, toModelOutput: 7 } as AiTool)).toEqual([
    `${owner} has a toModelOutput that is no function`,
  ])
})

test('reading the messages says what to write', async () => {
  const nosy = tool({ ...lasting, execute: (_input, { messages }) => messages.length })
  await expect(definitionOf(nosy).execute(state, {} as never, call)).rejects.toThrow('state.getMessages()')
})
