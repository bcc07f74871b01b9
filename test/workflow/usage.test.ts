import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { ScriptedModel, TestEnvironment } from '../../src/testing/index.js'
import { marked } from '../support/marker.js'
import { unscripted } from '../support/unscripted.js'

const task = z.object({ task: z.string() })
const voice = { toolDescription: 'Speaks', includeChat: true, includePastTools: true } as const
const PRICES = {
  chat: { inputPrice: 2, outputPrice: 10, cachedPrice: 0.5 },
  spare: { inputPrice: 1, outputPrice: 3, cachedPrice: 1 },
}

const office = registry({
  models: [
    defineModel({ name: 'chat', provider: unscripted, model: 'large', fallbacks: ['spare'], ...PRICES.chat }),
    defineModel({ name: 'spare', provider: unscripted, model: 'small' }),
  ],
  prompts: [
    definePrompt({
      ...{ ...voice, name: 'manager', prompt: 'You lead.', model: 'chat' },
      tools: ['work', 'draft', { name: 'runner', initUserMessageProperty: 'task' }],
    }),
    definePrompt({ ...voice, name: 'draft', prompt: 'You draft.', model: 'spare', requiredSchema: task }),
    definePrompt({ ...voice, name: 'runs', prompt: 'You run.', model: 'spare', requiredSchema: task }),
    definePrompt({ ...voice, name: 'judge', prompt: 'You judge.', model: 'spare', tools: ['approve'] }),
  ],
  agents: [
    defineAgent({ name: 'manager', sideA: { prompt: 'manager' } }),
    defineAgent({
      name: 'runner',
      type: 'dual_ai',
      sideA: { prompt: 'runs' },
      sideB: { prompt: 'judge', sessionStop: { name: 'approve', messageProperty: 'task' } },
      exposeAsTool: true,
      toolDescription: 'Runs',
      maxSessionTurns: 4,
    }),
  ],
  tools: {
    work: defineTool({ description: 'Works', args: task, execute: (state, args) => works(state, args) }),
    approve: defineTool({
      description: 'Approves',
      args: task,
      execute: () => ({ status: 'success' }),
    }),
  },
})

/** What the tool `work` does; each test sets it. */
let works: (state: ThreadState, args: { readonly task: string }) => Promise<{ status: 'success' | 'error' }>
let env: TestEnvironment
/** What the models have recorded, over all tests: each script belongs to one thread by its answers. */
let chat: ScriptedModel
let spare: ScriptedModel
let replies: { chat: Reply[]; spare: Reply[] } = { chat: [], spare: [] }

type Reply = Parameters<typeof scriptedModel>[0] extends infer Script
  ? Script extends readonly (infer One)[]
    ? Exclude<One, (...given: never) => unknown>
    : never
  : never

const next = (from: Reply[]) => (): Reply => {
  const reply = from.shift()
  if (reply === undefined) throw new Error('Expected no further request.')
  return reply
}

beforeAll(async () => {
  chat = scriptedModel(() => next(replies.chat)())
  spare = scriptedModel(() => next(replies.spare)())
  const prices = { small: PRICES.spare }
  env = await createTestEnvironment({ registry: office, models: { chat, spare }, prices })
}, 60_000)
afterAll(() => env.close())

interface Spent {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
}

const usage = (inputTokens: number, outputTokens: number, cachedInputTokens: number): Spent => ({
  ...{ inputTokens, outputTokens, cachedInputTokens },
})
const refused = { error: { status: 500, message: marked('No') } }
const done = { text: marked('Done') }
const call = (name: string) => ({ name, args: { task: marked('count') } })

/** What the script says that these answers cost, in millionths of a dollar. */
function costOf(answers: readonly { readonly usage?: Partial<Spent> }[], prices: typeof PRICES.chat): number {
  return answers.reduce((sum, { usage: spent }) => {
    const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = spent ?? {}
    const input =
      (inputTokens - cachedInputTokens) * prices.inputPrice + cachedInputTokens * prices.cachedPrice
    return sum + Math.round(input + outputTokens * prices.outputPrice)
  }, 0)
}

function tokensOf(answers: readonly { readonly usage?: Partial<Spent> }[]): Spent {
  const sum = (field: keyof Spent): number =>
    answers.reduce((all, { usage: spent }) => all + (spent?.[field] ?? 0), 0)
  return usage(sum('inputTokens'), sum('outputTokens'), sum('cachedInputTokens'))
}

const start = async (): Promise<ThreadHandle> => {
  const thread = await env.threads.create({ agent: 'manager', message: marked('Hello') })
  await thread.waitUntilIdle()
  return thread
}

test('KP-10.2 messages, cost, tokens, latencies and models of a tree equal what its models recorded', async () => {
  const [before, spareBefore] = [chat.requests.length, spare.requests.length]
  const ofChat = [
    { toolCalls: [call('work'), call('draft')], usage: usage(100, 10, 40), delay: 30 },
    { toolCalls: [call('runner')], usage: usage(200, 20, 0), delay: 60 },
  ]
  const ofSpare = [
    // In the code of `work`, which calls it in place.
    { text: marked('Inside'), usage: usage(11, 1, 0) },
    // The nested step of `draft`.
    { text: marked('Drafted'), usage: usage(12, 2, 3) },
    // The subagent, and its judge.
    { text: marked('Ran'), usage: usage(13, 3, 0) },
    { toolCalls: [call('approve')], usage: usage(14, 4, 0) },
    // In the place of `chat`, which fails twice.
    { ...done, usage: usage(300, 30, 0) },
  ]
  replies = { chat: [...ofChat, refused, refused], spare: [...ofSpare] }
  works = async (state) => {
    await state.invokeTool('draft', { task: marked('inside') })
    await new Promise((resolve) => setTimeout(resolve, 50))
    return { status: 'success' }
  }
  const thread = await start()
  const [own, tree] = [await thread.usage(), await thread.usage({ tree: true })]

  const asked = chat.requests.length - before
  const spareAsked = spare.requests.length - spareBefore
  expect([asked, spareAsked]).toEqual([4, 5])
  const cost = costOf(ofChat, PRICES.chat) + costOf(ofSpare, PRICES.spare)
  expect(tree).toMatchObject({
    ...{ threads: 2, requests: asked + spareAsked, failedRequests: 2, cost, knownCost: cost },
    ...tokensOf([...ofChat, ...ofSpare]),
    models: [
      {
        model: 'chat',
        requests: asked,
        failedRequests: 2,
        ...tokensOf(ofChat),
        cost: costOf(ofChat, PRICES.chat),
      },
      {
        ...{ model: 'spare', requests: spareAsked, failedRequests: 0, ...tokensOf(ofSpare) },
        cost: costOf(ofSpare, PRICES.spare),
      },
    ],
  })
  // The subagent has two of the requests to `spare`.
  expect(own).toMatchObject({ threads: 1, requests: asked + spareAsked - 2, ...{ runs: 1, steps: 3 } })
  expect(own.inputTokens).toBe(tree.inputTokens - 13 - 14)

  // The transcripts: silent and nested rows too.
  const { messages } = await thread.messages({ includeSilent: true, maxDepth: 8, limit: 500 })
  expect(own.messages).toBe(messages.length)
  const { run, lastRun } = await thread.snapshot()
  expect([run, lastRun?.steps]).toEqual([null, own.steps])
  expect((await thread.waitUntilIdle()).usage.cost).toBe(own.cost)

  // Answers come after the delays of the script, and the tool after its pause.
  const [slow] = tree.models
  expect(slow?.answerTime.count).toBe(2)
  expect(slow?.answerTime.p50).toBeGreaterThanOrEqual(29)
  expect(slow?.answerTime.max).toBeGreaterThanOrEqual(59)
  expect(tree.answerTime.count).toBe(7)
  expect(tree).toMatchObject({ toolCalls: 4, failedToolCalls: 0 })
  expect(own).toMatchObject({ toolCalls: 3, toolTime: { count: 3 } })
  expect(own.toolTime.max).toBeGreaterThanOrEqual(49)
})

test('a tool reads what its thread has used so far', async () => {
  const first = { toolCalls: [call('work')], usage: usage(100, 10, 0) }
  replies = { chat: [first, { ...done, usage: usage(50, 5, 0) }], spare: [] }
  const seen: unknown[] = []
  works = async (state) => {
    seen.push(await state.usage())
    return { status: 'error' }
  }
  const thread = await start()
  expect(seen).toMatchObject([
    { requests: 1, inputTokens: 100, cost: costOf([first], PRICES.chat), toolCalls: 1, failedToolCalls: 0 },
  ])
  expect(await thread.usage()).toMatchObject({ requests: 2, inputTokens: 150, steps: 2, failedToolCalls: 1 })
})
