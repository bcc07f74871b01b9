/** Conversations of all kinds that a page may see, each with what a subscriber saw of it while it went on. */
import { setTimeout as delay } from 'node:timers/promises'
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { z } from 'zod'
import type { ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ThreadEvent } from '../../src/protocol/events.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/testing/index.js'
import { fakeStreamModel, FINISH } from './fake-stream-model.js'
import { unscripted } from './unscripted.js'
import { until } from './until.js'

const order = z.object({ order: z.string() })
const prompt = { toolDescription: 'Helps', includeChat: true, includePastTools: true } as const

/** Agents with a model of their own that fails. */
const MODELS: readonly string[] = ['flaky', 'again', 'broken', 'searched', 'written']

export const chatDesk = registry({
  models: ['voice', ...MODELS].map((name) =>
    defineModel({ name: name as 'voice', provider: unscripted, model: name }),
  ),
  prompts: [
    definePrompt({
      ...{ ...prompt, name: 'desk', model: 'voice', prompt: 'You help.' },
      tools: [
        ...['look', 'refund', 'survey', 'paint', 'breakage'],
        { name: 'nested', initUserMessageProperty: 'order' },
        { name: 'runner', initUserMessageProperty: 'order' },
      ] as never,
    }),
    ...MODELS.map((name) =>
      definePrompt({
        ...{ ...prompt, name: name as 'flaky', model: name as 'voice', prompt: 'You fail.' },
        tools: (name === 'written' ? ['look', 'refund', 'breakage'] : []) as never,
      }),
    ),
    definePrompt({
      ...{ ...prompt, name: 'nested', model: 'voice', prompt: 'You are nested.', requiredSchema: order },
      tools: ['refund'] as never,
    }),
    definePrompt({ ...prompt, name: 'helper', model: 'voice', prompt: 'You work.', requiredSchema: order }),
    definePrompt({
      ...prompt,
      name: 'judge',
      model: 'voice',
      prompt: 'You judge.',
      tools: ['deliver'] as never,
    }),
  ],
  agents: [
    ...(['desk', 'flaky', 'again', 'broken', 'searched', 'written'] as const).map((name) =>
      defineAgent({ name: name as 'desk', sideA: { prompt: name as 'desk' } }),
    ),
    defineAgent({
      ...{ name: 'runner', type: 'dual_ai', exposeAsTool: true, toolDescription: 'Works for you' },
      sideA: { prompt: 'helper' },
      sideB: { prompt: 'judge', sessionStop: { name: 'deliver', messageProperty: 'summary' } },
    }),
  ] as never,
  tools: {
    look: defineTool({
      ...{ description: 'Looks', args: order },
      async execute(_state, { order: id }, reports) {
        for (let done = 0; done < 3; done += 1) {
          reports.progress({ progress: done, total: 3, message: 'Looks' })
          reports.output(`${'line '.repeat(20 ** done)}\n`)
          await delay(110)
        }
        return { status: 'success', result: `${id}: a tent. ${'x'.repeat(20_000)}` }
      },
    }),
    refund: defineTool({
      ...{ description: 'Refunds', args: order, needsApproval: true },
      execute: (_state, { order: id }) => ({ status: 'success', result: `${id} is refunded.` }),
    }),
    survey: defineTool({
      ...{ description: 'Asks', args: order },
      async execute(_state, _args, reports) {
        reports.output('It asks.')
        await delay(60)
        return { status: 'pending' }
      },
    }),
    deliver: defineTool({
      ...{ description: 'Ends', args: z.object({ summary: z.string() }) },
      execute: () => ({ status: 'success' }),
    }),
    paint: defineTool({
      description: 'Paints',
      execute: () => ({
        ...{ status: 'success', result: 'Painted.' },
        attachments: [
          { name: 'red.txt', mimeType: 'text/plain', data: Buffer.from('red').toString('base64') },
        ],
      }),
    }),
    breakage: defineTool({
      description: 'Breaks',
      async execute(_state, _args, reports) {
        reports.output('It breaks.')
        await delay(60)
        throw new Error('Broken.')
      },
    }),
  },
})

const call = (name: string, args: object = { order: 'A-17' }) => ({ name, args })
const done: ScriptedAnswer = { text: 'All of it is done now.', reasoning: 'Nothing is left to do.' }
/** Of a few seconds: who acts in the middle of it is not too late on a busy machine, where that takes a second. */
const slow: ScriptedAnswer = {
  text: Array.from({ length: 60 }, (_, index) => `word${index + 1}`).join(' '),
  wordDelay: 60,
}

/** What the voice says in each conversation, by the prompt. */
const SAYS: Readonly<Record<string, Readonly<Record<string, readonly ScriptedAnswer[]>>>> = {
  text: {
    desk: [
      { text: 'Hello to you, 👋 friend.', reasoning: 'They greet me. I greet them.', wordDelay: 5 },
      done,
    ],
  },
  tools: {
    desk: [
      { text: 'I look.', toolCalls: [call('look'), call('breakage', {}), call('paint', {})] },
      { toolCalls: [call('look', { wrong: 1 })] },
      { ...done, files: [{ mediaType: 'image/png', data: 'iVBORw0KGgo=' }] },
    ],
  },
  allow: { desk: [{ text: 'I may?', toolCalls: [call('refund'), call('look')] }, done] },
  deny: { desk: [{ toolCalls: [call('refund')] }, done] },
  edit: { desk: [{ toolCalls: [call('refund')] }, done] },
  replace: { desk: [{ toolCalls: [call('refund')] }, done] },
  survey: { desk: [{ toolCalls: [call('survey')] }, done] },
  nested: {
    desk: [{ toolCalls: [call('nested')] }, done],
    nested: [{ toolCalls: [call('refund')] }, { text: 'Nested text.' }],
  },
  helper: {
    desk: [{ toolCalls: [call('runner')] }, done],
    helper: [{ text: 'I worked.' }],
    judge: [{ toolCalls: [call('deliver', { summary: 'Good work.' })] }],
  },
  stop: { desk: [slow, done] },
  preempt: { desk: [slow, done] },
  steer: { desk: [{ ...slow, toolCalls: [call('look')] }, done] },
  turns: { desk: [slow, done] },
}

export const SCENARIOS = [...Object.keys(SAYS), ...MODELS]

type Part = LanguageModelV4StreamPart

const words = (...texts: readonly string[]): Part[] => [
  { type: 'text-start', id: '1' },
  ...texts.map((delta): Part => ({ type: 'text-delta', id: '1', delta })),
]
const failure = (statusCode: number): Part => ({ type: 'error', error: { statusCode, message: 'No.' } })
const thoughts: Part[] = [
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'Behind the text.' },
  { type: 'reasoning-end', id: 'r' },
]

/** What a provider runs itself: a search, one that fails, one without a result, and the sources. */
const search = {
  type: 'tool-call',
  toolName: 'web_search',
  input: '{"q":"tents"}',
  providerExecuted: true,
} as const
const found = { type: 'tool-result', toolName: 'web_search' } as const
const SEARCHED: readonly Part[] = [
  { ...search, toolCallId: 's1' },
  { ...found, toolCallId: 's1', result: [{ url: 'https://a.example' }] },
  { ...search, toolCallId: 's2' },
  { ...found, toolCallId: 's2', result: 'No.', isError: true },
  { ...search, toolCallId: 's3' },
  { type: 'source', sourceType: 'url', id: 'a', url: 'https://a.example', title: 'Tents' },
  { type: 'source', sourceType: 'url', id: 'x', url: 'javascript:alert(1)' },
  { type: 'source', sourceType: 'document', id: 'b', mediaType: 'application/pdf', title: 'Manual' },
]

/** A call whose arguments come in pieces, slowly enough to be seen; `whole` false: it breaks off. */
async function* written(id: string, toolName: string, input: object, whole = true): AsyncGenerator<Part> {
  const text = JSON.stringify(input)
  const pieces = text.match(/.{1,6}/g) ?? []
  yield { type: 'tool-input-start', id, toolName }
  for (const delta of whole ? pieces : pieces.slice(0, -1)) {
    yield { type: 'tool-input-delta', id, delta }
    await delay(120)
  }
  if (whole) yield { type: 'tool-call', toolCallId: id, toolName, input: text }
}

const LOOKED = { order: 'A-17, and B-4' }

/** Writes arguments that break off, then whole ones behind text, and some before it. */
const WRITTEN: readonly (() => AsyncGenerator<Part>)[] = [
  async function* () {
    yield* words('I may ', 'refund.')
    yield* written('w1', 'refund', { order: 'A-17, as you said' }, false)
    yield failure(503)
  },
  async function* () {
    yield* [...thoughts, ...words('I ', 'look.'), { type: 'text-end', id: '1' } as const]
    yield* written('w1', 'look', LOOKED)
    yield* written('w2', 'breakage', { why: 'because of the wind' })
    yield FINISH
  },
  async function* () {
    yield* written('w1', 'look', LOOKED)
    yield* words('I look ', 'again.')
    yield FINISH
  },
  async function* () {
    yield* words('All of it is done.')
    yield FINISH
  },
]

function writtenModel() {
  let asked = 0
  return {
    ...fakeStreamModel(),
    doStream() {
      const answer = WRITTEN[asked] ?? WRITTEN.at(-1)
      asked += 1
      if (answer === undefined) throw new Error('Expected an answer.')
      return Promise.resolve({ stream: ReadableStream.from(answer()) })
    },
  }
}

export function chatModels() {
  const left = new Map<string, ScriptedAnswer[]>()
  const scenarioOf = (threadId: string): string | undefined =>
    Object.keys(SAYS).find((name) => threadId.startsWith(`chat-${name}`))
  return {
    voice: scriptedModel(({ threadId, prompt: named }) => {
      // A subagent has an id of its own: only one conversation has some.
      const known = scenarioOf(threadId ?? '')
      const name = known ?? 'helper'
      const key = `${known === undefined ? name : threadId} ${named}`
      const answers = left.get(key) ?? [...(SAYS[name]?.[named ?? ''] ?? [])]
      left.set(key, answers)
      return answers.shift() ?? done
    }),
    flaky: fakeStreamModel(
      () => [...words('This will ', 'break'), failure(503)],
      () => [...words('This ', 'holds.'), { type: 'text-end', id: '1' }, ...thoughts, FINISH],
    ),
    again: fakeStreamModel(
      () => [...words('This will ', 'break'), failure(503)],
      () => [...words('This ', 'will ', 'hold.'), { type: 'text-end', id: '1' }, FINISH],
    ),
    searched: fakeStreamModel(() => [
      ...SEARCHED,
      ...words('A ', 'tent.'),
      { type: 'text-end', id: '1' },
      FINISH,
    ]),
    written: writtenModel(),
    broken: fakeStreamModel(() => [...words('This will ', 'fail'), failure(400)]),
  }
}

export interface Conversation {
  readonly name: string
  readonly thread: ThreadHandle
  /** As its subscriber got them. */
  readonly events: readonly ThreadEvent[]
}

type Create = (options: {
  readonly id: string
  readonly agent: never
  readonly message: never
}) => Promise<ThreadHandle>

/** Lives through a conversation, and records it. */
export async function converse(create: Create, name: string): Promise<Conversation> {
  const agent = (MODELS.includes(name) ? name : 'desk') as never
  const id = `chat-${name}`
  const thread = await create({ id, agent, message: { id: `${name}-1`, content: 'Hello' } as never })
  const events: ThreadEvent[] = []
  const end = new AbortController()
  const recording = (async () => {
    for await (const event of thread.events({ signal: end.signal })) events.push(event)
  })()
  const streams = () =>
    until('streaming', async () =>
      events.some(({ type, payload }) => type === 'model.delta' && 'text' in payload),
    )
  const asked = async () => (await until('a request', async () => (await thread.snapshot()).pending[0])).id
  if (name === 'allow' || name === 'nested')
    await thread.respond(await asked(), { approved: true, reason: 'Fine.' })
  if (name === 'deny') await thread.respond(await asked(), { approved: false, reason: 'Too much.' })
  if (name === 'edit') await thread.respond(await asked(), { approved: true, arguments: { order: 'B-4' } })
  if (name === 'replace')
    await thread.respond(await asked(), { result: { status: 'success', result: 'By hand.' } })
  if (name === 'survey')
    await thread.respond(await asked(), { result: { status: 'success', result: 'Five stars.' } })
  if (['stop', 'preempt', 'steer', 'turns'].includes(name)) await streams()
  if (name === 'stop') await thread.stop({ reason: 'Enough.' })
  const deliver = ({ preempt: 'preempt', turns: 'next_turn' } as const)[name]
  if (!MODELS.includes(name) && name !== 'stop')
    await thread.send({ content: 'And this?', id: `${name}-2`, ...(deliver !== undefined && { deliver }) })
  await thread.waitUntilIdle({ timeout: 60_000 })
  const { lastSequence } = await thread.snapshot()
  await until('the end of the log', async () => events.some(({ sequence }) => sequence === lastSequence))
  end.abort()
  await recording
  return { name, thread, events }
}
