import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineAgent,
  defineEffect,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'
import { putVariable } from '../../src/store/threads/variables.js'
import { assertEvents, scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { testEnvironment } from '../support/test-store.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import type { TimeSkippingServer } from '../support/time-skipping-server.js'
import { until } from '../support/until.js'

const DAY = 24 * 3_600_000

const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
  prompts: [
    definePrompt({
      name: 'clerk',
      toolDescription: 'Answers',
      model: 'chat',
      includeChat: true,
      prompt: [
        { type: 'text', content: 'Clerk of ' },
        { type: 'env', property: 'COMPANY' },
      ],
      variables: [
        { name: 'COMPANY', type: 'text', required: true, description: 'Shown' },
        { name: 'PAY_KEY', type: 'secret', required: true, description: 'Of the service' },
      ],
      tools: ['refund'],
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' }, env: { COMPANY: 'Acme' } })],
  tools: {
    refund: defineTool({
      description: 'Refunds',
      args: z.object({ delay: z.number().default(3 * DAY) }),
      execute: async (state, { delay }) => {
        await state.scheduleEffect('ask', { order: 'A-17' }, delay)
        return { status: 'success', result: `Paid with ${(await state.env('PAY_KEY')).length} letters.` }
      },
    }),
  },
  effects: {
    ask: defineEffect('Asks', z.object({ order: z.string() }), async (state, { order }) => {
      await state.queueMessage({ role: 'user', silent: true, content: `Ask whether ${order} arrived.` })
    }),
  },
})

let server: TimeSkippingServer
beforeAll(async () => {
  server = await startTimeSkippingServer()
})
afterAll(() => server.stop())

type Environment = TestEnvironment<typeof desk>

async function withEnvironment(
  options: {
    readonly env?: Record<string, string>
    readonly script: Parameters<typeof scriptedModel>[0]
    /** After it the time-skipping server skips no time. */
    readonly continueAsNewEveryStep?: boolean
  },
  work: (environment: Environment, chat: ReturnType<typeof scriptedModel>) => Promise<void>,
): Promise<void> {
  const chat = scriptedModel(options.script)
  const { env = {}, continueAsNewEveryStep = false } = options
  const environment = await testEnvironment({
    registry: desk,
    models: { chat },
    server: server.environment,
    env,
    continueAsNewEveryStep,
  })
  try {
    await work(environment, chat)
  } finally {
    await environment.close()
  }
}

test(
  'an effect comes days later, through a restart, and is seen by the model',
  () =>
    withEnvironment(
      {
        env: { PAY_KEY: 'canary-9' },
        script: [
          { toolCalls: [{ name: 'refund', args: {} }] },
          { text: 'Refunded.' },
          { text: 'Did it arrive?' },
        ],
      },
      async (environment, chat) => {
        const thread = await environment.threads.create({ agent: 'clerk', message: 'Refund A-17.' })
        expect((await thread.waitUntilIdle()).reply?.content).toBe('Refunded.')
        await environment.restartWorker()
        await environment.sleep('4 days')
        await until('the reply to the effect', async () => chat.requests.length === 3)
        expect((await thread.waitUntilIdle()).reply?.content).toBe('Did it arrive?')
        expect(chat.requests[2]?.messages.at(-1)?.text).toBe('Ask whether A-17 arrived.')
        await assertEvents(thread, ['effect.scheduled', 'run.completed', 'effect.completed', 'run.completed'])
        const visible = (await thread.messages()).messages.map(({ content }) => content)
        expect(visible).not.toContain('Ask whether A-17 arrived.')
      },
    ),
  60_000,
)

test(
  'a run without a required variable is blocked, and goes on when it is set',
  () =>
    withEnvironment(
      { script: [{ text: 'Hello.' }], continueAsNewEveryStep: true },
      async (environment, chat) => {
        const thread = await environment.threads.create({ agent: 'clerk', id: 'blocked', message: 'Hello?' })
        await until('the thread to be blocked', async () => (await thread.snapshot()).status === 'blocked')
        expect(chat.requests).toEqual([])
        const { store } = environment
        const secret = { threadId: 'blocked', name: 'PAY_KEY', value: 'canary-10', now: 1 }
        await store.write((tx) => putVariable(tx, store.secrets, secret))
        await environment.threads.temporal.workflow
          .getHandle('blocked')
          .signal('setEnv', { names: ['PAY_KEY'] })
        await until('a model call', () => chat.requests.length === 1)
        expect((await thread.waitUntilIdle()).reply?.content).toBe('Hello.')
        expect(chat.requests[0]?.system).toBe('Clerk of Acme')
        await assertEvents(thread, ['action.required', 'run.failed', 'action.resolved', 'run.completed'])
      },
    ),
  60_000,
)

test(
  'an effect goes from one Temporal run of its thread to the next',
  () =>
    withEnvironment(
      {
        env: { PAY_KEY: 'canary-11' },
        script: [
          { toolCalls: [{ name: 'refund', args: { delay: 1500 } }] },
          { text: 'Refunded.' },
          { text: 'Did it arrive?' },
        ],
        continueAsNewEveryStep: true,
      },
      async (environment, chat) => {
        const thread = await environment.threads.create({ agent: 'clerk', message: 'Refund A-17.' })
        await until('the reply to the effect', () => chat.requests.length === 3)
        expect((await thread.waitUntilIdle()).reply?.content).toBe('Did it arrive?')
        await assertEvents(thread, ['effect.scheduled', 'effect.completed', 'run.completed'])
      },
    ),
  60_000,
)
