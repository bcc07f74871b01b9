import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { insertStop } from '../../src/store/threads/stops.js'
import { REAL_PROVIDERS } from '../model/real-providers.js'
import { startProviderMock } from '../support/provider-mock.js'
import type { ProviderMock } from '../support/provider-mock.js'
import { until } from '../support/until.js'
import { attempt } from './activity-desk.js'
import { withModels } from './model-desk.js'

/** Milliseconds from the stop that an activity hears of to the end of the connection: it takes a few; the rest is for a busy machine. */
const STOP = 10_000

describe.each(REAL_PROVIDERS)('$name', ({ model }) => {
  let mock: ProviderMock
  beforeAll(async () => {
    mock = await startProviderMock()
  })
  afterAll(() => mock.close())

  test.each([
    ['before the first word', { preamble: false, ending: 'silent' }],
    ['in the midst of the answer', { text: 'I was about', ending: 'silent' }],
  ] as const)('a stop %s closes the connection in time', (_title, reply) =>
    withModels({ models: { chat: { asked: model(mock.url) } } }, async (desk) => {
      const count = mock.requests.length
      mock.reply(reply)
      const environment = attempt()
      const step = desk.step({}, environment)
      await until('the request', () => mock.requests.length > count)
      if ('text' in reply)
        await until('a word', async () => (await desk.store.read((db) => readDeltas(db, 't'))).length > 0)
      const started = performance.now()
      environment.cancel()
      expect(await step).toMatchObject({ type: 'interrupted' })
      await expect(mock.requests.at(-1)?.closed).resolves.toBe('left')
      expect(performance.now() - started).toBeLessThan(STOP)
    }),
  )

  test('PL-CX.6 a stop that is stored closes the connection at once', () =>
    withModels({ models: { chat: { asked: model(mock.url) } } }, async (desk) => {
      mock.reply({ preamble: false, ending: 'silent' })
      const asked = mock.requests.length
      let beats = 0
      const environment = attempt()
      environment.on('heartbeat', () => void (beats += 1))
      const step = desk.step({}, environment)
      await until('the request', () => mock.requests.length > asked)
      // Of another run: nothing happens.
      await desk.store.write((tx) => insertStop(tx, { threadId: 't', run: 7 }))
      await setTimeout(100)
      expect(beats).toBe(0)
      const started = performance.now()
      await desk.store.write((tx) => insertStop(tx, { threadId: 't', run: 1 }))
      expect(await step).toMatchObject({ type: 'interrupted' })
      await expect(mock.requests.at(-1)?.closed).resolves.toBe('left')
      expect(performance.now() - started).toBeLessThan(STOP)
      // With it, code that has Temporal's own signal hears of the stop.
      expect(beats).toBe(1)
    }))

  test('K-1 a provider that hangs ends the run while the activity beats', () =>
    withModels(
      { models: { chat: { asked: model(mock.url) } }, limits: { firstChunk: 2500 } },
      async (desk) => {
        mock.reply({ preamble: false, ending: 'silent' })
        const environment = attempt({ heartbeatTimeoutMs: 1_500 })
        let beats = 0
        environment.on('heartbeat', () => void (beats += 1))
        expect(await desk.step({}, environment)).toMatchObject({ type: 'end', reason: 'model_failed' })
        expect(beats).toBeGreaterThanOrEqual(3)
        expect((await desk.transcript()).at(-1)?.content).toContain('it stopped answering')
        await expect(mock.requests.at(-1)?.closed).resolves.toBe('left')
      },
    ))

  test('K-6 long silence behind an empty first chunk is borne', () =>
    withModels(
      {
        models: { chat: { asked: model(mock.url) } },
        limits: { firstChunk: 30_000, stall: 500 },
      },
      async (desk) => {
        mock.reply({ text: 'Here I am.', pause: 2_000 })
        expect(await desk.step()).toMatchObject({ type: 'answered', text: true })
        expect(await desk.told('model.failed')).toEqual([])
      },
    ))

  test('K-3 a slow stream that goes on survives', () =>
    withModels(
      { models: { chat: { asked: model(mock.url) } }, limits: { firstChunk: 30_000, stall: 1_500 } },
      async (desk) => {
        const text = 'This takes its time.'
        mock.reply({ text, wordPause: 500 })
        expect(await desk.step()).toMatchObject({ type: 'answered' })
        expect((await desk.transcript()).at(-1)).toMatchObject({ content: text })
        expect(await desk.told('model.failed')).toEqual([])
      },
    ))
})
