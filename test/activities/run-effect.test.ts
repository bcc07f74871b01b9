import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import { giveUpEffect, runEffect } from '../../src/activities/run-effect.js'
import { defineEffect, registry } from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import type { RunEffectAnswer, RunEffectInput } from '../../src/protocol/activities.js'
import { LEVEL } from '../../src/protocol/answer-problem.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { findError } from '../../src/store/errors.js'
import { insertOperation } from '../../src/store/operations.js'
import { findEffect, insertEffect } from '../../src/store/threads/effects.js'
import { requestTermination } from '../../src/store/threads/threads.js'
import { listValues } from '../../src/store/threads/variables.js'
import { createGate } from '../support/gate.js'
import { AFTER_A_MINUTE, attempt, failingStore, failureOf, NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { CLOSE, runSettle, settleInput } from './settle-desk.js'

type Work = (state: ThreadState, args: { orderId: string; times: number }) => void | Promise<void>

function worker({ store, dependencies: { caps } }: ActivityDesk, work: Work): ActivityDependencies {
  const args = z.object({ orderId: z.string(), times: z.number().default(1) })
  const effects = { remind: defineEffect('Reminds', args, work) }
  return { store, caps, registry: registry({ agents: [], prompts: [], models: [], effects }) }
}

async function schedule({ store }: ActivityDesk, patch: Partial<Parameters<typeof insertEffect>[1]> = {}) {
  const args = { orderId: 'A-17' }
  const effect = { thread_id: 't', id: 'effect_1', name: 'remind', args, due_at: 1, created_at: 1 }
  await store.write((tx) => insertEffect(tx, { ...effect, ...patch }))
}

const INPUT: RunEffectInput = {
  level: LEVEL,
  threadId: 't',
  now: NOW,
  run: 3,
  facts: [{ type: 'queue.changed', payload: { waiting: 0 } }],
  effectId: 'effect_1',
  agent: 'clerk',
}

function run(dependencies: ActivityDependencies, environment = attempt()): Promise<RunEffectAnswer> {
  return environment.run((input: RunEffectInput) => runEffect(dependencies, input), INPUT)
}

const effectOf = ({ store }: ActivityDesk) => store.read((db) => findEffect(db, 't', 'effect_1'))
const errorOf = ({ store }: ActivityDesk) => store.read((db) => findError(db, 't:effect_1'))
const valuesOf = ({ store }: ActivityDesk) => store.read((db) => listValues(db, 't'))
const typesOf = async (desk: ActivityDesk) => (await desk.events()).map(({ type }) => type)

describe('a due effect', () => {
  test('gets its parsed arguments, and its writes are stored with it', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const dependencies = worker(desk, async (state, args) => {
        expect(state.execution).toBeNull()
        await state.setValue('args', args)
        await state.queueMessage({ role: 'user', silent: true, content: 'Ask again.' })
      })
      const answer = await run(dependencies)
      expect(answer).toEqual({
        type: 'ran',
        operations: [{ kind: 'queue_message', id: 't:effect_1:0', role: 'user' }],
      })
      expect(await valuesOf(desk)).toEqual({ args: { orderId: 'A-17', times: 1 } })
      expect(await effectOf(desk)).toMatchObject({ status: 'done', finished_at: NOW * 1000 })
      expect(await typesOf(desk)).toEqual(['queue.changed', 'effect.completed'])
      const [message] = await desk.transcript()
      expect(message?.metadata).toEqual({ scheduledEffect: { id: 'effect_1', name: 'remind' } })
    }))

  test('may schedule the next one', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const answer = await run(
        worker(desk, async (state) => void (await state.scheduleEffect('remind', { orderId: 'B' }, 1000))),
      )
      expect(answer).toMatchObject({ operations: [{ kind: 'schedule_effect' }] })
    }))

  test('T9 that does more than can be told has done nothing', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const work: Work = async (state) => {
        await state.setValue('begun', true)
        for (let index = 0; index < 3000; index += 1) await state.setEnv('CITY', 'Bern', { type: 'text' })
      }
      expect(await run(worker(desk, work))).toEqual({ type: 'ran' })
      expect(await valuesOf(desk)).toEqual({})
      expect(await effectOf(desk)).toMatchObject({ status: 'failed' })
      expect((await errorOf(desk))?.type).toBe('Effect.too_many_operations')
    }))

  test('that was removed meanwhile does nothing', () =>
    withDesk({}, async (desk) => {
      const work = vi.fn<Work>()
      expect(await run(worker(desk, work))).toEqual({ type: 'ran' })
      expect(await run(worker(desk, work))).toEqual({ type: 'ran' })
      expect(work).not.toHaveBeenCalled()
      expect(await typesOf(desk)).toEqual(['queue.changed'])
    }))

  test('T8 of a terminated thread does not run', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      await desk.store.write((tx) => requestTermination(tx, { threadId: 't', reason: null, now: 1 }))
      const work = vi.fn<Work>()
      expect(await run(worker(desk, work))).toEqual({ type: 'terminated' })
      expect(work).not.toHaveBeenCalled()
    }))
})

describe('a thread that closes', () => {
  test('T8 leaves nothing scheduled', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      await runSettle(desk, settleInput({ end: null, close: CLOSE }))
      expect(await effectOf(desk)).toMatchObject({ status: 'removed' })
      expect(await typesOf(desk)).toEqual(['effect.removed', 'thread.closed'])
    }))
})

describe('an effect that is given up', () => {
  const giveUp = ({ store }: ActivityDesk) => store.write((tx) => giveUpEffect(tx, INPUT, 'effect_1'))
  const payloads = async (desk: ActivityDesk) => (await desk.events()).map(({ payload }) => payload)

  test('T3 is closed as failed, and told once', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      await giveUp(desk)
      await giveUp(desk)
      expect(await effectOf(desk)).toMatchObject({ status: 'failed', error: 't:effect_1' })
      expect(await errorOf(desk)).toMatchObject({ type: 'Effect.given_up' })
      expect(await typesOf(desk)).toEqual(['effect.failed'])
      expect(await payloads(desk)).toEqual([
        { effectId: 'effect_1', name: 'remind', code: 'given_up', errorId: 't:effect_1' },
      ])
    }))

  test('T4 a worker that still has it commits nothing', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const gate = createGate()
      const started = createGate()
      const late = run(
        worker(desk, async (state) => {
          await state.setValue('late', true)
          started.open()
          await gate.passed
        }),
      )
      await started.passed
      await giveUp(desk)
      gate.open()
      expect(await late).toEqual({ type: 'ran' })
      expect(await valuesOf(desk)).toEqual({})
      expect(await typesOf(desk)).toEqual(['queue.changed', 'effect.failed'])
    }))

  test('T4 one whose commit was first stays done', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      await run(worker(desk, () => undefined))
      await giveUp(desk)
      expect(await effectOf(desk)).toMatchObject({ status: 'done' })
      expect(await typesOf(desk)).toEqual(['queue.changed', 'effect.completed'])
    }))
})

describe('another attempt', () => {
  test('T4 of an effect that is done answers what was recorded', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const work = vi.fn<Work>(async (state) => state.queueMessage({ role: 'user', content: 'Again.' }))
      const first = await run(worker(desk, work))
      expect(await run(worker(desk, work))).toEqual(first)
      expect(work).toHaveBeenCalledTimes(1)
      expect(await desk.transcript()).toHaveLength(1)
    }))

  test('T9 of one that was cut off runs it again, its writes once', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const work = vi.fn<Work>(async (state) => state.queueMessage({ role: 'user', content: 'Again.' }))
      const crashed = {
        thread_id: 't',
        id: 'effect_1',
        kind: 'effect',
        state: 'started',
        attempt: 1,
      } as const
      await desk.store.write((tx) => insertOperation(tx, { ...crashed, started_at: 1 }))
      await run(worker(desk, work))
      expect(work).toHaveBeenCalledTimes(1)
      expect(await desk.transcript()).toHaveLength(1)
      expect(await typesOf(desk)).toEqual(['effect.completed'])
    }))

  test('T4 that finds it done by a later one changes nothing', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const gates = [createGate(), createGate()] as const
      let attempts = 0
      const dependencies = worker(desk, async (state) => {
        attempts += 1
        await state.queueMessage({ role: 'user', content: `By attempt ${attempts}.` })
        if (attempts > 1) return
        gates[0].open()
        await gates[1].passed
      })
      const slow = run(dependencies)
      await gates[0].passed
      const quick = await run(dependencies)
      gates[1].open()
      expect(await slow).toEqual(quick)
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['By attempt 2.'])
      expect(await typesOf(desk)).toEqual(['queue.changed', 'effect.completed'])
    }))

  test('a store that fails at the commit runs nothing twice', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const work = vi.fn<Work>()
      const store = failingStore(desk.store, (write) => write === 2)
      await run({ ...worker(desk, work), store })
      expect(work).toHaveBeenCalledTimes(1)
      expect(store.writes).toBe(3)
      expect(await effectOf(desk)).toMatchObject({ status: 'done' })
    }))
})

describe('an effect that fails', () => {
  test('T5 keeps what it did before a throw, whose words stay in the store', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const answer = await run(
        worker(desk, async (state) => {
          await state.setValue('before', true)
          throw new Error('canary-4')
        }),
      )
      expect(answer).toEqual({ type: 'ran' })
      expect(await valuesOf(desk)).toEqual({ before: true })
      expect(await effectOf(desk)).toMatchObject({ status: 'failed', error: 't:effect_1' })
      expect(await errorOf(desk)).toMatchObject({ type: 'Effect.threw', message: 'canary-4' })
      const failed = (await desk.events()).at(-1)
      expect(failed).toMatchObject({ type: 'effect.failed', payload: { code: 'threw', name: 'remind' } })
      expect(JSON.stringify(failed)).not.toContain('canary')
    }))

  test('a throw that no row can hold is a failure all the same', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const thrown = Object.assign(new Error(), { message: { code: 3 } })
      expect(await run(worker(desk, () => Promise.reject(thrown)))).toEqual({ type: 'ran' })
      expect(await errorOf(desk)).toMatchObject({ type: 'Effect.threw', message: '{"code":3}' })
    }))

  test('bad arguments are found when it runs', () =>
    withDesk({}, async (desk) => {
      await schedule(desk, { args: { orderId: 17 } })
      const work = vi.fn<Work>()
      await run(worker(desk, work))
      expect(work).not.toHaveBeenCalled()
      expect(await errorOf(desk)).toMatchObject({ message: expect.stringContaining('orderId') })
      expect(await effectOf(desk)).toMatchObject({ status: 'failed' })
    }))

  test('T9 one that hangs is given up, and keeps nothing', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const started = createGate()
      const work: Work = async (state) => {
        await state.setValue('before', true)
        started.open()
        await new Promise(() => undefined)
      }
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      try {
        const running = run(worker(desk, work))
        await started.passed
        vi.advanceTimersByTime(LIMITS.toolTimeout)
        expect(await running).toEqual({ type: 'ran' })
      } finally {
        vi.useRealTimers()
      }
      expect(await valuesOf(desk)).toEqual({})
      expect(await errorOf(desk)).toMatchObject({ type: 'Effect.timeout' })
    }))

  test('T9 one that a user stops is interrupted, and keeps nothing', () =>
    withDesk({}, async (desk) => {
      await schedule(desk)
      const environment = attempt()
      const work: Work = async (state) => {
        await state.setValue('before', true)
        environment.cancel('CANCELLED')
        await new Promise(() => undefined)
      }
      expect(await run(worker(desk, work), environment)).toEqual({ type: 'ran' })
      expect(await valuesOf(desk)).toEqual({})
      expect(await errorOf(desk)).toMatchObject({ type: 'Effect.interrupted' })
    }))

  test('a name that no worker has is waited for, then a failure', () =>
    withDesk({}, async (desk) => {
      await schedule(desk, { name: 'gone' })
      const dependencies = worker(desk, () => undefined)
      expect(await failureOf(run(dependencies))).toMatchObject({ type: 'Definition.Missing' })
      expect(await run(dependencies, attempt(AFTER_A_MINUTE))).toEqual({ type: 'ran' })
      expect(await effectOf(desk)).toMatchObject({ status: 'failed' })
    }))
})
