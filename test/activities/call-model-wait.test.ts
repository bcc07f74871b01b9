import { describe, expect, test } from 'vitest'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { findOperation } from '../../src/store/operations.js'
import { scriptedModel } from '../../src/testing/index.js'
import { fakeStreamModel } from '../support/fake-stream-model.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { attempt, modelInput, NOW, runModel } from './activity-desk.js'
import { refusing, withModels } from './model-desk.js'
import type { ModelDesk } from './model-desk.js'

const SECOND = 1000
const later = (seconds: number, status = 429) => ({
  error: { status, message: 'Later.', headers: { 'retry-after': String(seconds) } },
})

/** The same step, called again when the workflow has waited. */
function afterwards(answer: unknown): { readonly now: number } {
  return { now: (answer as { readonly until: number }).until }
}

/** Seconds after the workflow's time: what was asked for, and a random part of a quarter more at most. */
function secondsOf(answer: unknown, now = NOW): number {
  const { until: time } = answer as { readonly until: number }
  return (time - now) / SECOND
}

/** `spent`: seconds of the attempt itself. */
function expectAbout(seconds: number, asked: number, spent = 1): void {
  expect(seconds).toBeGreaterThanOrEqual(asked)
  expect(seconds).toBeLessThan(asked * 1.25 + spent)
}

/** The waits of a step that is called again after each. */
async function expectWaits(desk: ModelDesk, seconds: readonly number[]): Promise<void> {
  let now = NOW
  for (const asked of seconds) {
    const answer = await desk.step({ now })
    expectAbout(secondsOf(answer, now), asked, 4)
    now = afterwards(answer).now
  }
}

describe('a provider that asks to wait', () => {
  test.each([429, 503, 529])('%i for long answers wait, and the same call goes on', (status) => {
    const chat = scriptedModel([later(30, status), { text: 'Here.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const answer = await desk.step()
      expect(answer).toMatchObject({ type: 'wait', plan: { agent: 'clerk' } })
      expectAbout(secondsOf(answer), 30)
      const held = await desk.store.read((db) => findOperation(db, 't', 'model_1_1'))
      expect(held).toMatchObject({ state: 'started', attempt: 1 })
      expect(await desk.step(afterwards(answer))).toMatchObject({ type: 'answered' })
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['Hello?', 'Here.'])
      expect(await desk.told('model.requested', 'model.failed', 'model.completed')).toMatchObject([
        { attempt: 1 },
        { attempt: 1, next: 'wait' },
        { attempt: 2 },
        { attempt: 2 },
      ])
      expect((await desk.told('step.phase')).map(({ phase }) => phase)).toEqual([1, 2, 3, 4])
    })
  })

  test('what was told with the wait is not told again', () => {
    const usage = {
      inputTokens: { total: 7, noCache: 7, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 3, text: 3, reasoning: 0 },
    }
    const finishReason = { unified: 'error', raw: 'error' } as const
    const chat = fakeStreamModel(
      () => [
        { type: 'text-delta', id: '1', delta: 'I was' },
        { type: 'finish', finishReason, usage },
      ],
      () => [{ type: 'error', error: { statusCode: 400, message: 'No.' } }],
      () => [
        { type: 'text-delta', id: '1', delta: 'Here.' },
        { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
      ],
    )
    const models = {
      chat: { asked: chat, inputPrice: 1, outputPrice: 1, fallbacks: ['backup'] },
      backup: { asked: scriptedModel([later(20)]) },
    }
    return withModels({ models }, async (desk) => {
      const answer = await desk.step()
      expect(answer).toMatchObject({ type: 'wait', usage: { inputTokens: 7, cost: 10 } })
      expect(await desk.store.read((db) => readDeltas(db, 't'))).toEqual([])
      expect(await desk.step(afterwards(answer))).toMatchObject({
        type: 'answered',
        usage: { inputTokens: 7, cost: 10 },
      })
    })
  })

  test('a fallback is asked before anybody waits', () => {
    const chat = scriptedModel([later(30)])
    const models = {
      chat: { asked: chat, fallbacks: ['backup'] },
      backup: { asked: scriptedModel([{ text: 'Here.' }]) },
    }
    return withModels({ models }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'answered' })
      expect(chat.requests).toHaveLength(1)
    })
  })

  test('the shortest wait of all models holds', () => {
    const models = {
      chat: { asked: scriptedModel([later(90)]), fallbacks: ['first', 'second'] },
      first: { asked: scriptedModel([later(40)]) },
      second: { asked: refusing(401) },
    }
    return withModels({ models }, async (desk) => {
      expectAbout(secondsOf(await desk.step()), 40)
    })
  })

  test('who refuses after its own wait is given ever more time', () => {
    const chat = scriptedModel(() => later(15))
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      await expectWaits(desk, [15, 15, 15, 16, 32])
    })
  })

  test('a step waits a day at most and then fails visibly', () => {
    const chat = scriptedModel([later(86_000), later(500)])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const answer = await desk.step()
      expectAbout(secondsOf(answer), 86_000)
      expect(await desk.step(afterwards(answer))).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect((await desk.transcript()).at(-1)?.content).toContain('refuses more requests for now')
    })
  })
})

describe('a provider that asks for a short pause again and again', () => {
  const soon = (status: number) => ({
    error: { status, message: 'Soon.', headers: { 'retry-after-ms': '50' } },
  })

  test.each([429, 503, 529])('%i twice for a moment makes the thread wait', (status) => {
    const chat = scriptedModel([soon(status), soon(status), { text: 'Here.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const answer = await desk.step()
      expect(answer).toMatchObject({ type: 'wait' })
      expect(await desk.told('model.failed')).toMatchObject([{ next: 'retry' }, { next: 'wait' }])
      expect(await desk.step(afterwards(answer))).toMatchObject({ type: 'answered' })
    })
  })

  test('a refusal without a time makes the thread wait ever longer', () =>
    withModels({ models: { chat: { asked: refusing(529) } } }, async (desk) => {
      await expectWaits(desk, [2, 4])
    }))

  test('a server error twice is no pause and ends the run', () =>
    withModels({ models: { chat: { asked: refusing(500) } } }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
    }))

  test('a run waits for providers no longer than its agent allows', () => {
    const chat = scriptedModel(() => later(40))
    const parts = { models: { chat: { asked: chat } }, agent: { providerPatience: 60 * SECOND } }
    return withModels(parts, async (desk) => {
      const answer = await desk.step()
      expect(answer).toMatchObject({ type: 'wait' })
      // The waits of all steps of the run count.
      expect(await desk.step(afterwards(answer))).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect((await desk.transcript()).at(-1)?.content).toContain('refuses more requests for now')
    })
  })

  test('an agent without patience asks once and ends its run', () => {
    const chat = scriptedModel(() => soon(429))
    const parts = { models: { chat: { asked: chat } }, agent: { providerPatience: 0 } }
    return withModels(parts, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'end', reason: 'model_failed' })
      expect(chat.requests).toHaveLength(1)
    })
  })

  test('what one thread was told holds for the others of its worker', () => {
    const chat = scriptedModel([later(30), { text: 'Here.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      expect(await desk.step()).toMatchObject({ type: 'wait' })
      const [id = ''] = await desk.send('two')
      const other = await desk.step({ run: 2, drain: [{ kind: 'message', id }] })
      expectAbout(secondsOf(other), 29)
      expect(chat.requests).toHaveLength(1)
    })
  })
})

describe('the limit of a provider', () => {
  test('requests beyond the minute wait without being made', () => {
    const chat = scriptedModel(() => ({ text: 'Here.' }))
    const models = { chat: { asked: chat, rateLimit: { requestsPerMinute: 1 } } }
    return withModels({ models }, async (desk) => {
      const first = await desk.step()
      const plan = first.type === 'answered' ? (first.plan?.digest ?? '') : ''
      const next = { step: 2, plan, knownPlan: plan, trigger: null, drain: [] }
      expect(secondsOf(await desk.step(next))).toBeCloseTo(60, 0)
      expect(chat.requests).toHaveLength(1)
      const held = await desk.store.read((db) => findOperation(db, 't', 'model_1_2'))
      expect(held).toMatchObject({ state: 'drained' })
      expect(await desk.told('model.failed')).toEqual([])
    })
  })

  test('models of one provider share the strictest limit', () => {
    const gate = createGate()
    const chat = scriptedModel(async () => {
      await gate.passed
      return { text: 'Here.' }
    })
    const models = {
      chat: { asked: chat, rateLimit: { concurrency: 2 } },
      other: { asked: chat, rateLimit: { concurrency: 1 } },
    }
    return withModels({ models }, async (desk) => {
      const { registry } = desk.dependencies
      const provider = { languageModel: () => chat }
      const model = (name: string) => {
        const definition = registry.model(name)
        return definition && { ...definition, provider }
      }
      const shared = { ...desk.dependencies, registry: { ...registry, model } }
      const [one, two] = await desk.send('one', 'two')
      const ask = (run: number, id = '') =>
        runModel(shared, modelInput({ run, drain: [{ kind: 'message', id }] }))
      const answers = [ask(1, one), ask(2, two)]
      await until('one request', () => chat.requests.length === 1)
      gate.open()
      expect(await Promise.all(answers)).toMatchObject([{ type: 'answered' }, { type: 'answered' }])
      expect(chat.requests).toHaveLength(2)
    })
  })

  test('a stop in the line ends the step without a request', () => {
    const chat = scriptedModel(() => ({ text: 'Here.' }))
    const models = { chat: { asked: chat, rateLimit: { concurrency: 1 } } }
    const gate = createGate()
    const held = scriptedModel(async () => {
      await gate.passed
      return { text: 'First.' }
    })
    return withModels({ models: { chat: { ...models.chat, asked: held } } }, async (desk) => {
      const first = desk.step()
      await until('the first request', () => held.requests.length === 1)
      const [id = ''] = await desk.send('two')
      const environment = attempt()
      const second = desk.step({ run: 2, drain: [{ kind: 'message', id }] }, environment)
      await until('the second drain', async () => (await desk.told('run.started')).length === 2)
      environment.cancel()
      expect(await second).toMatchObject({ type: 'interrupted' })
      expect(await desk.told('model.failed')).toEqual([])
      // Its phases are marked all the same.
      expect((await desk.told('step.phase')).map(({ phase }) => phase).slice(-7)).toEqual([
        1, 2, 3, 4, 5, 6, 7,
      ])
      gate.open()
      expect(await first).toMatchObject({ type: 'answered' })
      expect(held.requests).toHaveLength(1)
    })
  })
})
