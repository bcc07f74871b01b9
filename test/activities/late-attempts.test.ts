import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { runEffect } from '../../src/activities/run-effect.js'
import { defineEffect, registry } from '../../src/index.js'
import { LEVEL } from '../../src/protocol/answer-problem.js'
import { finishOperation, takeOperation } from '../../src/store/operations.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { attempt, drainOf, failureOf, modelInput, NOW, runModel, runTool, withDesk } from './activity-desk.js'
import { lastResult, success } from './tool-outcomes.js'

/** Attempts of one activity, as Temporal scheduled them, a heartbeat timeout apart. */
const first = () => attempt({ currentAttemptScheduledTimestampMs: NOW })
const second = () => attempt({ attempt: 2, currentAttemptScheduledTimestampMs: NOW + 31_000 })

const LATE = { type: 'Operation.Stale', nonRetryable: false }

/** Its task was on its way until after the next attempt had begun. */
describe('T4 an attempt that comes later than its successor', () => {
  test.each(['work', 'again'])('leaves a call of the tool "%s" to it', (name) => {
    const gate = createGate()
    const work = vi.fn(() => gate.passed.then(() => success('done')))
    return withDesk({ work }, async (desk) => {
      const input = await desk.call(name)
      const running = runTool(desk.dependencies, input, second())
      await until('the tool', () => work.mock.calls.length === 1)
      expect(await failureOf(runTool(desk.dependencies, input, first()))).toMatchObject(LATE)
      gate.open()
      expect(await running).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await lastResult(desk)).toMatchObject({ content: 'done', tool_status: 'success' })
      expect(work).toHaveBeenCalledTimes(1)
      // What has an outcome is told to whoever asks.
      expect(await runTool(desk.dependencies, input, first())).toEqual(await running)
    })
  })

  test('leaves a model call to it', () => {
    const gate = createGate()
    const chat = scriptedModel(() => gate.passed.then(() => ({ text: 'Hello.' })))
    return withDesk({ chat }, async (desk) => {
      const input = modelInput({ drain: drainOf(await desk.send('one')) })
      const running = runModel(desk.dependencies, input, second())
      await until('the request', () => chat.requests.length === 1)
      expect(await failureOf(runModel(desk.dependencies, input, first()))).toMatchObject(LATE)
      gate.open()
      expect(await running).toMatchObject({ type: 'answered' })
      expect(chat.requests).toHaveLength(1)
      expect(await desk.transcript()).toMatchObject([{ content: 'one' }, { content: 'Hello.' }])
    })
  })

  test('leaves an effect to it', () =>
    withDesk({}, async ({ store, dependencies: { caps } }) => {
      const gate = createGate()
      const work = vi.fn(() => gate.passed)
      const effects = { remind: defineEffect('Reminds', z.object({}), work) }
      const worker = { store, caps, registry: registry({ agents: [], prompts: [], models: [], effects }) }
      const effect = { thread_id: 't', id: 'effect_1', name: 'remind', args: {}, due_at: 1, created_at: 1 }
      await store.write((tx) => insertEffect(tx, effect))
      const about = { level: LEVEL, threadId: 't', now: NOW, run: 1, facts: [], agent: 'clerk' }
      const run = () => runEffect(worker, { ...about, effectId: 'effect_1' })
      const running = second().run(run)
      await until('the effect', () => work.mock.calls.length === 1)
      expect(await failureOf(first().run(run))).toMatchObject(LATE)
      gate.open()
      expect(await running).toEqual({ type: 'ran' })
      expect(work).toHaveBeenCalledTimes(1)
    }))
})

test.each([3, 1])(
  'T4 a tool of %i tries is not tried again once another attempt holds its call, and nothing stands in',
  (maximumAttempts) => {
    const retry = { maximumAttempts, initialInterval: 1 }
    const fallback = vi.fn(() => 'Nobody knows.')
    const unknown = { type: 'result', outcome: 'unknown' }
    let tries = 0
    return withDesk({ retry, work: () => Promise.reject(new Error('Not yet.')) }, async (desk) => {
      const input = await desk.call('work')
      const held = { threadId: 't', id: input.callId, attempt: 2 }
      // What a successor on another worker commits meanwhile.
      const overtaken = desk.with({
        ...{ retry, traits: { onError: { fallback } } },
        async work() {
          tries += 1
          await desk.store.write(async (tx) => {
            await takeOperation(tx, { ...held, state: 'started' })
            await finishOperation(tx, { ...held, answer: unknown, now: NOW * 1000 })
          })
          throw new Error('Not yet.')
        },
      })
      expect(await desk.run(input, overtaken)).toEqual(unknown)
      expect([tries, fallback.mock.calls.length]).toEqual([1, 0])
    })
  },
)
