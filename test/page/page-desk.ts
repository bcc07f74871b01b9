import { setTimeout as delay } from 'node:timers/promises'

import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { FINISH } from '../support/fake-stream-model.js'
import { HOSTILE } from './hostile.js'

type Part = LanguageModelV4StreamPart

/** Milliseconds between two words, so that a person, and a test, sees them come. */
const PACE = 25

/** What the model says to the last message: each word of a test asks for one thing, so that an answer depends on nothing else. */
function answerTo({ prompt }: LanguageModelV4CallOptions): { readonly text?: string; readonly call?: Call } {
  const last = prompt.at(-1)
  if (JSON.stringify(prompt[0]?.content).includes('You research.'))
    return { call: { tool: 'deliver', input: { summary: `Found ${HOSTILE}` } } }
  if (last?.role === 'tool') return { text: 'All is **done**.' }
  const text = JSON.stringify(last?.content ?? '')
  const words = /tell (\d+)/.exec(text)
  if (words !== null) return { text: tale(Number(words[1])) }
  if (text.includes('clock')) return { text: `clock ${tale(80)}` }
  if (text.includes('provider')) throw new Error(`The provider says ${HOSTILE}`)
  const [, tool = ''] = /please (\w+)/.exec(text) ?? []
  const input = CALLS[tool]
  if (input !== undefined) return { call: { tool, input } }
  if (text.includes('hostile'))
    return { text: `Hello ${HOSTILE} and [a link](javascript:alert(1)) and ![x](https://example.com/x.png)` }
  return { text: 'Gladly.' }
}

interface Call {
  readonly tool: string
  readonly input: object
}

const CALLS: Readonly<Record<string, object>> = {
  look_up: { order: 'A-17' },
  refund: { order: 'A-17', euros: 40, reason: 'broken', note: HOSTILE },
  survey: { question: `How was it? ${HOSTILE}` },
  breakage: { order: HOSTILE },
  paint: {},
  researcher: { question: 'What is a tent?' },
}

/** Words that tell by themselves whether one is missing or doubled. */
export function tale(words: number): string {
  return Array.from({ length: words }, (_, index) => `word${index + 1}`).join(' ')
}

const model = {
  specificationVersion: 'v4' as const,
  provider: 'page',
  modelId: 'page',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('Expected a streaming call.')),
  async doStream(options: LanguageModelV4CallOptions) {
    const { text, call } = answerTo(options)
    return Promise.resolve({ stream: ReadableStream.from(partsOf(text, call)) })
  },
}

async function* partsOf(text: string | undefined, call: Call | undefined): AsyncGenerator<Part> {
  yield { type: 'stream-start', warnings: [] }
  if (text !== undefined) {
    yield { type: 'text-start', id: '1' }
    for (const word of text.split(/(?<= )/)) {
      await delay(PACE)
      // Of an answer that is to be measured: when each word was written.
      yield {
        type: 'text-delta',
        id: '1',
        delta: word.replace(/^word/, text.startsWith('clock') ? `${Date.now()}:` : 'word'),
      }
    }
    yield { type: 'text-end', id: '1' }
  }
  if (call !== undefined)
    yield { type: 'tool-call', toolCallId: 'call', toolName: call.tool, input: JSON.stringify(call.input) }
  yield {
    ...FINISH,
    finishReason:
      call === undefined ? { unified: 'stop', raw: 'stop' } : { unified: 'tool-calls', raw: 'tool_calls' },
    usage: {
      inputTokens: { total: 1200, noCache: 1000, cacheRead: 200, cacheWrite: undefined },
      outputTokens: { total: 80, text: 80, reasoning: undefined },
    },
  } as Part
}

/** A red pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

/** The agents of the page's tests. */
export function pageDesk() {
  const prompt = {
    ...{ toolDescription: 'Helps', model: 'chat', includeChat: true, includePastTools: true },
  }
  return registry({
    models: [
      defineModel({
        ...{ name: 'chat', provider: { languageModel: () => model }, model: 'page' },
        inputPrice: 1,
        outputPrice: 4,
      }),
    ],
    prompts: [
      definePrompt({
        ...{ ...prompt, name: 'desk', prompt: 'You run the desk.' },
        tools: [
          'look_up',
          'refund',
          'survey',
          'breakage',
          'paint',
          { name: 'researcher', initUserMessageProperty: 'question' },
        ],
      }),
      definePrompt({
        ...{ ...prompt, name: 'research', prompt: 'You research.', tools: ['deliver'] },
        requiredSchema: z.object({ question: z.string() }),
      }),
      definePrompt({
        ...{ ...prompt, name: 'mailer', prompt: 'You write mails.' },
        variables: [{ name: 'MAIL_KEY', type: 'secret', required: true, description: 'Of the mail service' }],
      }),
    ],
    agents: [
      defineAgent({
        ...{ name: 'desk', title: `Desk ${HOSTILE}`, description: 'Answers about orders' },
        sideA: { prompt: 'desk' },
        budget: { maxToolCalls: 20, maxCost: 5 },
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
        description: 'Delivers what was found',
        args: z.object({ summary: z.string() }),
        execute: () => ({ status: 'success' }),
      }),
      look_up: defineTool({
        description: 'Looks an order up',
        args: z.object({ order: z.string() }),
        execute: async (_state, { order }) => ({ status: 'success', result: `${order}: a tent, ${HOSTILE}` }),
      }),
      refund: defineTool({
        description: 'Refunds an order',
        args: z.object({
          order: z.string().describe('The number of the order'),
          euros: z.number().positive(),
          reason: z.enum(['broken', 'late']),
          note: z.string(),
        }),
        needsApproval: true,
        capabilities: ['orders.refund'],
        preview: async (_state, { euros }) => [
          { type: 'text', text: `${euros} euros go back. ${HOSTILE}` },
          { type: 'diff', before: 'paid', after: `refunded ${HOSTILE}`, title: HOSTILE },
        ],
        execute: async (_state, { euros }) => ({ status: 'success', result: `${euros} euros are refunded.` }),
      }),
      survey: defineTool({
        description: 'Asks the person',
        args: z.object({ question: z.string() }),
        execute: async () => ({
          status: 'pending',
          form: {
            type: 'object',
            properties: {
              stars: { type: 'integer', title: 'Stars', minimum: 1, maximum: 5 },
              again: { type: 'boolean', title: 'Again?' },
              words: { type: 'string', title: `Words ${HOSTILE}` },
            },
            required: ['stars'],
          },
        }),
      }),
      breakage: defineTool({
        description: 'Breaks',
        args: z.object({ order: z.string() }),
        execute: async () => {
          throw new Error(`Broken ${HOSTILE}`)
        },
      }),
      paint: defineTool({
        description: 'Paints',
        execute: async (state) => {
          await state.writeFile(`/notes/${HOSTILE.replaceAll('/', '')}.html`, HOSTILE, 'text/html')
          return {
            status: 'success',
            result: 'Painted.',
            attachments: [{ name: 'red.png', mimeType: 'image/png', data: PNG }],
          }
        },
      }),
    },
  })
}
