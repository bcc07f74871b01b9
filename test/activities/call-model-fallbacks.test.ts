import { createOpenAI } from '@ai-sdk/openai'
import { describe, expect, test } from 'vitest'

import type { FailureText } from '../../src/definitions/failure-text.js'
import { findError, listErrors } from '../../src/store/errors.js'
import { scriptedModel } from '../../src/testing/index.js'
import { fakeStreamModel } from '../support/fake-stream-model.js'
import { startProviderMock } from '../support/provider-mock.js'
import { until } from '../support/until.js'
import {
  AFTER_A_MINUTE,
  attempt,
  drainOf,
  failureOf,
  loggingAttempt,
  modelInput,
  runModel,
} from './activity-desk.js'
import { refusing, withModels } from './model-desk.js'
import type { ModelDesk } from './model-desk.js'

const says = (text: string) => scriptedModel(() => ({ text }))

describe('the prompt’s model and its fallbacks', () => {
  test('a model that fails twice is followed by its fallbacks in order', () => {
    const [chat, first, second] = [refusing(500), refusing(401), says('Here.')]
    const models = {
      chat: { asked: chat, fallbacks: ['first', 'second'] },
      first: { asked: first },
      second: { asked: second },
    }
    return withModels({ models }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'answered', text: true })
      expect([chat, first, second].map(({ requests }) => requests.length)).toEqual([2, 1, 1])
      expect(await desk.told('model.requested', 'model.failed', 'model.completed')).toMatchObject([
        { model: 'chat', attempt: 1 },
        { model: 'chat', attempt: 1, error: 'unavailable', next: 'retry' },
        { model: 'chat', attempt: 2 },
        { model: 'chat', attempt: 2, error: 'unavailable', next: 'fallback' },
        { model: 'first', attempt: 3 },
        { model: 'first', attempt: 3, error: 'authentication', next: 'fallback' },
        { model: 'second', attempt: 4 },
        { model: 'second', attempt: 4, finishReason: 'stop' },
      ])
      const error = await desk.store.read((db) => findError(db, 't:model_1_1:3'))
      expect(error).toMatchObject({ type: 'authentication', message: 'The provider answered 401: No, 401.' })
    })
  })

  test('E1 the words of a provider are in log and store, and in no answer', async () => {
    const mock = await startProviderMock()
    const key = 'walnut-oak-and-elm'
    mock.reply({ status: 404, message: `The model gpt-nine does not exist for ${key}.` })
    try {
      const asked = createOpenAI({ baseURL: mock.url, apiKey: key }).chat('gpt-nine')
      await withModels({ models: { chat: { asked } } }, async (desk) => {
        const { environment, lines } = loggingAttempt()
        const answer = await desk.step({}, environment)
        const errorId = 't:model_1_1:1'
        const words = 'The provider answered 404: The model gpt-nine does not exist for [secret of chat].'
        expect(lines).toMatchObject([
          { message: 'A request to a model failed.', error: 'bad_request', errorId, reason: words },
        ])
        expect(await desk.told('model.failed')).toMatchObject([{ error: 'bad_request', errorId }])
        const [error] = await desk.store.read((db) => listErrors(db, { threadId: 't', limit: 9 }))
        expect(error).toMatchObject({ id: errorId, type: 'bad_request', message: words })
        expect(JSON.stringify(answer)).not.toContain('gpt-nine')
        expect((await desk.transcript()).at(-1)?.content).not.toContain('gpt-nine')
      })
    } finally {
      await mock.close()
    }
  })

  test.each<[string, FailureText, string]>([
    ['a text', 'Please call us.', 'Please call us.'],
    ['a function', ({ agent, reason }) => `${agent} has ended: ${reason}`, 'clerk has ended: model_failed'],
    ['a function that throws', () => ''.repeat(-1), 'The model "chat" gave no answer because'],
  ])('E2 the end user reads what %s of the worker says', (_what, failureText, text) =>
    withModels({ models: { chat: { asked: refusing(401) } } }, async (desk) => {
      await runModel({ ...desk.dependencies, failureText }, modelInput({ drain: drainOf(['m1']) }))
      expect((await desk.transcript()).at(-1)?.content).toContain(text)
    }),
  )

  test('E3 a scripted model without replies says that its script has ended', () =>
    withModels({ models: { chat: { asked: scriptedModel([]) } } }, async (desk) => {
      const { environment, lines } = loggingAttempt()
      await desk.step({}, environment)
      expect((await desk.transcript()).at(-1)?.content).toContain('because its script has no more replies')
      expect(lines).toMatchObject([
        { reason: expect.stringContaining('Expected at most 0 requests of this scripted model') as unknown },
      ])
    }))

  test('T5: an error is stored without the key that its provider quotes', async () => {
    const mock = await startProviderMock()
    const key = 'walnut-oak-and-elm'
    const headers = { 'x-acme-token': 'birch-beech-and-yew' }
    mock.reply({ status: 401, message: `Refused key ${key} of ${headers['x-acme-token']}.` })
    try {
      const asked = createOpenAI({ baseURL: mock.url, apiKey: key, headers }).chat('mock')
      await withModels({ models: { chat: { asked } } }, async (desk) => {
        expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
        const error = await desk.store.read((db) => findError(db, 't:model_1_1:1'))
        expect(error?.message).toBe(
          'The provider answered 401: Refused key [secret of chat] of [secret of chat].',
        )
        expect(error?.stack).not.toContain(key)
      })
    } finally {
      await mock.close()
    }
  })

  test('a model of another version of the AI SDK is named', () => {
    const old = { ...says('Never.'), specificationVersion: 'v3' } as never
    return withModels({ models: { chat: { asked: old } } }, async (desk) => {
      const { environment, logged } = loggingAttempt()
      expect(await desk.step({}, environment)).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect(logged).toEqual([
        expect.stringMatching(/^The model "chat" cannot be used: expected .* got v3: install/),
        'A request to a model failed.',
      ])
      expect(await desk.told('model.failed')).toMatchObject([{ error: 'unsupported_version', next: 'none' }])
      expect((await desk.transcript()).at(-1)?.content).toBe(
        'The model "chat" gave no answer because its provider is of another version of the AI SDK (expected models of ' +
          "the AI SDK's specification v4, got v3: install the release of its package that depends on " +
          '@ai-sdk/provider 4, such as @ai-sdk/openai@4). Send a message to try again.',
      )
    })
  })

  test('fallbacks of a fallback are not followed', () => {
    const models = {
      chat: { asked: refusing(401), fallbacks: ['first'] },
      first: { asked: refusing(403), fallbacks: ['second'] },
      second: { asked: says('Never.') },
    }
    return withModels({ models }, async (desk) => {
      expect(await desk.step()).toEqual({ type: 'end', reason: 'model_failed', outcome: 'failed' })
      expect((await desk.transcript()).at(-1)).toMatchObject({
        status: 'failed',
        content:
          'The model "chat" gave no answer because it has no key, or its provider refused it. ' +
          'Its fallback "first" gave none because it has no key, or its provider refused it. ' +
          'Send a message to try again.',
      })
    })
  })

  test('options and prices are those of who answers', () => {
    const backup = says('Here.')
    const models = {
      chat: { asked: refusing(401), inputPrice: 1000, outputPrice: 1000, fallbacks: ['backup'] },
      backup: {
        asked: backup,
        inputPrice: 1,
        outputPrice: 2,
        providerOptions: { openai: { user: 'model', store: false } },
      },
    }
    const prompt = { providerOptions: { openai: { user: 'prompt' } } }
    return withModels({ models, prompt }, async (desk) => {
      expect(await desk.step()).toMatchObject({ usage: { inputTokens: 10, outputTokens: 5, cost: 20 } })
      expect(backup.requests[0]?.raw.providerOptions).toMatchObject({
        openai: { user: 'prompt', store: false },
      })
      expect((await desk.detail()).requests).toMatchObject([
        { model: 'chat', prices: { inputPrice: 1000 }, usage: null, error: 'authentication' },
        { model: 'backup', prices: { inputPrice: 1 }, usage: { cost: 20 }, error: null },
      ])
    })
  })

  test('K-5 a stalled model is left for its fallback at once', () => {
    const chat = fakeStreamModel(() => ['never'])
    const models = { chat: { asked: chat, fallbacks: ['backup'] }, backup: { asked: says('Here.') } }
    return withModels({ models, limits: { firstChunk: 1_000 } }, async (desk) => {
      const started = performance.now()
      expect(await desk.step()).toMatchObject({ type: 'answered' })
      expect(performance.now() - started).toBeLessThan(10_000)
      expect(chat.calls).toBe(1)
      expect(await desk.told('model.failed')).toMatchObject([{ error: 'stalled', next: 'fallback' }])
    })
  })

  test('K-5 the models of a step share the time of one call', () => {
    const [chat, second, third] = [1, 2, 3].map(() => fakeStreamModel(() => ['never']))
    if (!chat || !second || !third) throw new Error('Expected three models.')
    const models = {
      chat: { asked: chat, fallbacks: ['second', 'third'] },
      second: { asked: second },
      third: { asked: third },
    }
    return withModels({ models, limits: { firstChunk: 1_500, total: 2_000 } }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect([chat.calls, second.calls, third.calls]).toEqual([1, 1, 0])
    })
  })

  test('what a filter withholds is asked of the fallback', () => {
    const finishReason = { unified: 'content-filter', raw: 'refusal' } as const
    const usage = {
      inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 3, text: 3, reasoning: 0 },
    }
    const chat = fakeStreamModel(() => [
      { type: 'text-delta', id: '1', delta: 'I was about' },
      { type: 'finish', finishReason, usage },
    ])
    const models = {
      chat: { asked: chat, inputPrice: 1, outputPrice: 1, fallbacks: ['backup'] },
      backup: { asked: says('Here.'), inputPrice: 1, outputPrice: 1 },
    }
    return withModels({ models }, async (desk) => {
      const answer = await desk.step()
      // What was filtered is paid for too.
      expect(answer).toMatchObject({ usage: { inputTokens: 17, outputTokens: 8, cost: 25 } })
      expect(chat.calls).toBe(1)
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['Hello?', 'Here.'])
    })
  })

  /** The second step of a run, on a worker that lacks this model. */
  const lacking = async (desk: ModelDesk, name: string, environment?: ReturnType<typeof attempt>) => {
    const first = await desk.step()
    const plan = first.type === 'answered' ? (first.plan?.digest ?? '') : ''
    const { registry } = desk.dependencies
    const model = (asked: string) => (asked === name ? undefined : registry.model(asked))
    const poorer = { ...desk.dependencies, registry: { ...registry, model } }
    return runModel(poorer, modelInput({ step: 2, plan, knownPlan: plan, trigger: null }), environment)
  }

  test('a fallback that this worker lacks is passed over', () => {
    const models = {
      chat: { asked: refusing(401), fallbacks: ['gone', 'backup'] },
      gone: { asked: says('Gone.') },
      backup: { asked: says('Here.') },
    }
    return withModels({ models }, async (desk) => {
      expect(await lacking(desk, 'gone')).toMatchObject({ type: 'answered' })
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['Hello?', 'Gone.', 'Here.'])
    })
  })

  test('a model that no worker has is named in the transcript', () =>
    withModels({ models: { chat: { asked: says('a') } } }, async (desk) => {
      expect(await lacking(desk, 'chat', attempt(AFTER_A_MINUTE))).toMatchObject({ reason: 'model_failed' })
      expect((await desk.transcript()).at(-1)?.content).toBe(
        'The model "chat" gave no answer because no worker has its definition. Send a message to try again.',
      )
    }))

  test('the prompt’s model is waited for before its fallback serves', () => {
    const models = { chat: { asked: says('a'), fallbacks: ['backup'] }, backup: { asked: says('b') } }
    return withModels({ models }, async (desk) => {
      expect(await failureOf(lacking(desk, 'chat'))).toMatchObject({ type: 'Definition.Missing' })
      await lacking(desk, 'chat', attempt(AFTER_A_MINUTE))
      expect((await desk.transcript()).at(-1)).toMatchObject({ content: 'b' })
    })
  })
})

describe('a stop', () => {
  test('K-4 during the first attempt leaves one interrupted record', () => {
    const chat = fakeStreamModel(() => [{ type: 'text-delta', id: '1', delta: 'I was' }, 'never'])
    const backup = says('Never.')
    const models = { chat: { asked: chat, fallbacks: ['backup'] }, backup: { asked: backup } }
    return withModels({ models }, async (desk) => {
      const environment = attempt()
      const step = desk.step({}, environment)
      await until('the request', () => chat.calls === 1)
      environment.cancel()
      expect(await step).toMatchObject({ type: 'interrupted' })
      expect(await desk.told('model.failed')).toEqual([
        { model: 'chat', attempt: 1, error: 'interrupted', next: 'none' },
      ])
      expect([chat.calls, backup.requests.length]).toEqual([1, 0])
    })
  })

  test('K-4 during the pause before a retry asks nobody', () => {
    const [chat, backup] = [refusing(500), says('Never.')]
    const models = { chat: { asked: chat, fallbacks: ['backup'] }, backup: { asked: backup } }
    return withModels({ models }, async (desk) => {
      const environment = attempt()
      const step = desk.step({}, environment)
      await until('the request', () => chat.requests.length === 1)
      setTimeout(() => environment.cancel(), 100)
      expect(await step).toMatchObject({ type: 'interrupted' })
      expect(await desk.told('model.failed')).toEqual([
        { model: 'chat', attempt: 1, error: 'unavailable', next: 'none', errorId: 't:model_1_1:1' },
      ])
      expect([chat.requests.length, backup.requests.length]).toEqual([1, 0])
    })
  })
})

describe('a context that is too long', () => {
  const tooLong = { error: { status: 400, message: 'The maximum context length is 8192 tokens.' } }

  test('is cut twice without counting an attempt', () => {
    const chat = scriptedModel([
      tooLong,
      tooLong,
      { error: { status: 500, message: 'No.' } },
      { text: 'Here.' },
    ])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'answered' })
      expect(await desk.told('model.failed')).toMatchObject([
        { error: 'context_too_long', next: 'retry' },
        { error: 'context_too_long', next: 'retry' },
        { error: 'unavailable', next: 'retry' },
      ])
    })
  })

  test('ends the run visibly after two cuts', () => {
    const chat = scriptedModel(() => tooLong)
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect(chat.requests).toHaveLength(3)
      expect((await desk.transcript()).at(-1)?.content).toContain('the conversation is too long for it')
    })
  })
})

describe('a model that says nothing', () => {
  test('K-18 twice is asked to answer each time', () => {
    const chat = scriptedModel([{ text: ' ' }, { text: '' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const first = await desk.step()
      const plan = first.type === 'answered' ? (first.plan?.digest ?? '') : ''
      const next = { step: 2, plan, knownPlan: plan, trigger: null, drain: [] }
      const calls = [first, await desk.step(next)].map((answer) =>
        answer.type === 'answered' ? answer.calls.map(({ id }) => id) : [],
      )
      expect(calls).toEqual([['call_1_1_0'], ['call_1_2_0']])
      expect((await desk.transcript()).slice(1).map((row) => row.tool_calls)).toEqual([
        expect.stringContaining('invalid_assistant_response'),
        expect.stringContaining('invalid_assistant_response'),
      ])
    })
  })
})
