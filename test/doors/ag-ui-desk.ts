/** Agents of the tests of AG-UI: each word of a person asks their one model for one thing. */
import { setTimeout as delay } from 'node:timers/promises'
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { APICallError } from '@ai-sdk/provider'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { FINISH } from '../support/fake-stream-model.js'
import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { until } from '../support/until.js'

type Part = LanguageModelV4StreamPart

interface Answer {
  readonly reasoning?: string
  readonly text?: string
  readonly calls?: readonly { readonly tool: string; readonly input: object }[]
  /** The stream breaks off behind the text, once somebody has heard this word of it. */
  readonly breaks?: string
  /** Milliseconds between two words. */
  readonly pace?: number
}

const CALLS: Readonly<Record<string, object>> = {
  look: { order: 'A-17' },
  refund: { order: 'A-17', euros: 40 },
  survey: {},
  store: {},
  fail: {},
  long: {},
  nap: {},
  researcher: { question: 'What is a tent?' },
  summary: { text: 'A long story' },
}

/** How often each prompt was asked, by what the person said: each thread says another one, also those of other files in this process. */
const asked = new Map<string, number>()

/** What was heard of answers that break off. */
const heard: string[] = []

/**
 * A subscriber tells what it hears. Live text that the next attempt replaces before it is read is never seen: on a busy machine nobody
 * would hear of an attempt that does not wait for that.
 */
export function noteHeard(text: string): void {
  if (text.includes('half-')) heard.push(text)
}

const naps = new Map<string, Gate>()

/** The nap of that thread lasts until the gate is open. */
export function holdNap(threadId: string): Gate {
  const gate = createGate()
  naps.set(threadId, gate)
  return gate
}

function answerTo(prompt: LanguageModelV4CallOptions['prompt']): Answer {
  const system = JSON.stringify(prompt[0]?.content)
  if (system.includes('You research.')) return { calls: [{ tool: 'deliver', input: { summary: 'A tent.' } }] }
  if (system.includes('You summarize.')) return { text: 'In short: all is well.' }
  const last = prompt.at(-1)
  if (last?.role === 'tool') return { reasoning: 'It is done now.', text: 'All is done, dear friend.' }
  const text = JSON.stringify(last?.content ?? '')
  const tools = [...text.matchAll(/please (\w+)/g)].map(([, tool = '']) => tool)
  if (tools.length > 0)
    return {
      reasoning: 'I have to do something.',
      ...(text.includes('say so') && { text: 'Let me do that.' }),
      calls: tools.map((tool) => ({ tool, input: CALLS[tool] ?? {} })),
    }
  const count = (asked.get(text) ?? 0) + 1
  asked.set(text, count)
  const [, flaky] = /flaky (\w+)/.exec(text) ?? []
  if (flaky !== undefined && count < 3) {
    const last = `half-${flaky}-${count}`
    return { reasoning: `Attempt ${count} thinks`, text: `Attempt ${count} says ${last}`, breaks: last }
  }
  const [, waver] = /waver (\w+)/.exec(text) ?? []
  if (waver !== undefined && count < 2) {
    const order = `half-${waver}`
    return { text: 'Let me', calls: [{ tool: 'refund', input: { order, euros: 4 } }], breaks: order }
  }
  if (waver !== undefined) return { text: 'I look.', calls: [{ tool: 'look', input: { order: 'A-17' } }] }
  if (text.includes('broken')) throw new APICallError({ ...BROKEN, isRetryable: false })
  // Longer than a test: one that is to end in the middle of it has not come too late.
  if (text.includes('endless tale')) return { text: tale(5_000), pace: 25 }
  if (text.includes('tale')) return { text: tale(80), pace: 25 }
  if (text.includes('huge')) return { text: `${'ä€😀 '.repeat(4_000)}end` }
  return { reasoning: 'They greet me.', text: 'Hello, ä€😀 how are you?' }
}

const BROKEN = { message: 'No.', url: 'x', requestBodyValues: {}, statusCode: 400 }

function tale(words: number): string {
  return Array.from({ length: words }, (_, index) => `word${index + 1}`).join(' ')
}

/** Milliseconds between two words: also a short text comes in several parts, which are gathered for some tens of milliseconds. */
function paceOf(text: string): number {
  return text.length < 50 ? 40 : 0
}

async function* partsOf({ reasoning, text, calls = [], breaks, pace }: Answer): AsyncGenerator<Part> {
  yield { type: 'stream-start', warnings: [] }
  for (const [kind, words] of [
    ['reasoning', reasoning],
    ['text', text],
  ] as const) {
    if (words === undefined) continue
    yield { type: `${kind}-start`, id: kind }
    for (const delta of words.split(/(?<= )/)) {
      await delay(pace ?? paceOf(words))
      yield { type: `${kind}-delta`, id: kind, delta }
    }
    if (breaks === undefined || kind === 'reasoning') yield { type: `${kind}-end`, id: kind }
  }
  for (const [index, call] of calls.entries()) yield* partsOfCall(`call-${index}`, call, breaks)
  if (breaks !== undefined) {
    await until(`somebody to hear "${breaks}"`, () => heard.some((words) => words.includes(breaks)))
    throw new APICallError({ ...BROKEN, statusCode: 503, isRetryable: true })
  }
  const usage = {
    inputTokens: { total: 12, noCache: 10, cacheRead: 2, cacheWrite: undefined },
    outputTokens: { total: 8, text: 8, reasoning: undefined },
  }
  const reason = calls.length === 0 ? 'stop' : 'tool-calls'
  yield { ...FINISH, finishReason: { unified: reason, raw: reason }, usage } as Part
}

/** Its arguments come in pieces; those of an answer that breaks off as far as the word that is to be heard. */
async function* partsOfCall(
  id: string,
  { tool: toolName, input }: NonNullable<Answer['calls']>[number],
  breaks: string | undefined,
): AsyncGenerator<Part> {
  const text = JSON.stringify(input)
  const seen = breaks === undefined ? text : text.slice(0, text.indexOf(breaks) + breaks.length)
  yield { type: 'tool-input-start', id, toolName }
  for (const delta of seen.match(/.{1,6}/g) ?? []) {
    yield { type: 'tool-input-delta', id, delta }
    await delay(60)
  }
  if (breaks !== undefined) return
  yield { type: 'tool-input-end', id }
  yield { type: 'tool-call', toolCallId: id, toolName, input: text }
}

const model = {
  specificationVersion: 'v4' as const,
  ...{ provider: 'doors', modelId: 'doors', supportedUrls: {} },
  doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
  doStream: async ({ prompt }: LanguageModelV4CallOptions) => ({
    stream: ReadableStream.from(partsOf(answerTo(prompt))),
  }),
}

const voice = { toolDescription: 'Helps', model: 'chat', includeChat: true, includePastTools: true } as const
const form = {
  type: 'object',
  properties: { stars: { type: 'integer', minimum: 1, maximum: 5 } },
  required: ['stars'],
} as const

export const agUiDesk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => model }, model: 'doors' })],
  prompts: [
    definePrompt({
      ...{ ...voice, name: 'desk', prompt: 'You run the desk.' },
      tools: [
        ...(['look', 'refund', 'survey', 'store', 'fail', 'long', 'nap'] as const),
        { name: 'researcher', initUserMessageProperty: 'question' },
        { name: 'summary', initUserMessageProperty: 'text' },
      ],
    }),
    definePrompt({
      ...{
        ...voice,
        name: 'summary',
        prompt: 'You summarize.',
        requiredSchema: z.object({ text: z.string() }),
      },
    }),
    definePrompt({
      ...{ ...voice, name: 'research', prompt: 'You research.', tools: ['deliver'] },
      requiredSchema: z.object({ question: z.string() }),
    }),
    definePrompt({
      ...{ ...voice, name: 'mailer', prompt: 'You write mails.' },
      variables: [{ name: 'SENDER', type: 'text', required: true, description: 'Who writes' }],
    }),
  ],
  agents: [
    defineAgent({ name: 'desk', sideA: { prompt: 'desk' } }),
    defineAgent({
      name: 'thrifty',
      sideA: { prompt: 'desk' },
      budget: { maxModelCalls: 1, onExceeded: 'ask' },
    }),
    defineAgent({ name: 'mailer', sideA: { prompt: 'mailer' } }),
    defineAgent({
      ...{ name: 'researcher', type: 'dual_ai', exposeAsTool: true, toolDescription: 'Researches' },
      maxSessionTurns: 2,
      sideA: { prompt: 'research', sessionStop: { name: 'deliver', messageProperty: 'summary' } },
      sideB: { prompt: 'desk' },
    }),
  ],
  tools: {
    deliver: defineTool({
      ...{ description: 'Delivers', args: z.object({ summary: z.string() }) },
      execute: () => ({ status: 'success' }),
    }),
    look: defineTool({
      ...{ description: 'Looks an order up', args: z.object({ order: z.string() }) },
      execute: (state, { order }) => {
        state.emit('looked', { order })
        return { status: 'success', result: `${order}: a tent` }
      },
    }),
    refund: defineTool({
      ...{ description: 'Pays money back', needsApproval: true },
      args: z.object({ order: z.string(), euros: z.number().max(100) }),
      execute: (_state, { euros }) => ({ status: 'success', result: `${euros} euros are refunded.` }),
    }),
    survey: defineTool({
      description: 'Asks the person',
      async execute(_state, _args, call) {
        call.output('It asks.')
        await delay(60)
        return { status: 'pending', form }
      },
    }),
    store: defineTool({
      description: 'Writes a file',
      execute: async (state) => {
        await state.writeFile('/notes.txt', 'A note', 'text/plain')
        const attachments = [{ name: 'a.txt', mimeType: 'text/plain', data: 'QQ==' }]
        return { status: 'success', result: 'Written.', attachments }
      },
    }),
    fail: defineTool({
      description: 'Fails',
      async execute(_state, _args, call) {
        call.output('It tries.')
        await delay(60)
        throw new Error('It is closed.')
      },
    }),
    long: defineTool({
      description: 'Says much',
      execute: () => ({ status: 'success', result: 'much '.repeat(5_000) }),
    }),
    nap: defineTool({
      description: 'Takes a while',
      async execute(state, _args, call) {
        for (let done = 0; done < 5; done += 1) {
          call.progress({ progress: done, total: 5, message: 'Sleeps' })
          call.output(`ä€😀 ${done}\n`)
          await delay(160)
        }
        await naps.get(state.threadId)?.passed
        return { status: 'success', result: 'Awake.' }
      },
    }),
  },
})
