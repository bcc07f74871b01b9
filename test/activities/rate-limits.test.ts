import { describe, expect, test } from 'vitest'

import type { RateLimits } from '../../src/index.js'
import { fact } from '../../src/protocol/facts.js'
import { findOperation } from '../../src/store/operations.js'
import { readWaitTime } from '../../src/store/threads/runs.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { runLimits } from '../../src/worker/worker-options.js'
import {
  drainOf,
  failingStore,
  failureOf,
  loggingAttempt,
  modelInput,
  NOW,
  PLAIN_CALL,
  runModel,
  runTool,
  withDesk,
} from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { success } from './tool-outcomes.js'

const SAID = { text: 'Done.', usage: { inputTokens: 70, outputTokens: 30 } }

/** The desk's worker with these limits. `counts`: the store that they use. */
const limited = ({ dependencies, store }: ActivityDesk, limits: RateLimits, counts: Store = store) => ({
  ...dependencies,
  ...runLimits(limits, () => counts),
})

/** As if the minute were over. */
const letMinutePass = ({ store }: ActivityDesk) =>
  store.write((tx) => tx.deleteFrom('rate_windows').execute())

async function usedTokens({ store }: ActivityDesk): Promise<number> {
  const [row] = await store.read((db) => db.selectFrom('rate_windows').select('counts').execute())
  const counts = JSON.parse(row?.counts ?? '[]') as readonly (readonly [number, number])[]
  return counts.reduce((sum, [, amount]) => sum + amount, 0)
}

const secondsFrom = (answer: unknown) => ((answer as { readonly until: number }).until - NOW) / 1000

describe('a call above the limit of its account', () => {
  test('begins nothing, keeps the facts of its input, and goes on under the same id', () => {
    const ran: string[] = []
    const work = (_state: unknown, _args: unknown, { id }: { readonly id: string }) => {
      ran.push(id)
      return success('done')
    }
    return withDesk({ work }, async (desk) => {
      const [first, second] = await desk.calls([{ name: 'work' }, { name: 'work' }])
      if (first === undefined || second === undefined) throw new Error('Expected two calls.')
      const worker = limited(desk, { toolCallsPerMinute: 1 })
      expect(await runTool(worker, first)).toMatchObject({ outcome: 'succeeded' })
      const asked = { ...second, facts: [fact('queue.changed', { waiting: 7 })] }
      const answer = await runTool(worker, asked)
      expect(answer).toMatchObject({ type: 'wait', cause: 'limit', storedNothing: true })
      expect(secondsFrom(answer)).toBeGreaterThan(55)
      expect(secondsFrom(answer)).toBeLessThan(90)
      expect(await desk.store.read((db) => findOperation(db, 't', second.callId))).toBeNull()
      expect(await desk.told('queue.changed')).not.toContainEqual({ waiting: 7 })
      expect(await desk.told('limit.changed')).toMatchObject([
        { limit: 'toolCallsPerMinute', state: 'exhausted' },
      ])
      await letMinutePass(desk)
      expect(await runTool(worker, asked)).toMatchObject({ outcome: 'succeeded' })
      expect(ran).toEqual([first.callId, second.callId])
      expect((await desk.told('queue.changed')).filter(({ waiting }) => waiting === 7)).toHaveLength(1)
    })
  })

  test('that has begun counts no more, and one that a person was asked about counted then', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const call = await desk.call('pay', { amount: 1 })
      const worker = limited(desk, { toolCallsPerMinute: 1 })
      const asked = await runTool(worker, call)
      expect(asked).toMatchObject({ type: 'pending' })
      await desk.decide((asked as { readonly requestId: string }).requestId, { approved: true })
      const response = { requestId: (asked as { readonly requestId: string }).requestId, approved: true }
      expect(await runTool(worker, { ...call, response })).toMatchObject({ outcome: 'succeeded' })
      expect(await runTool(worker, call)).toMatchObject({ outcome: 'succeeded' })
    }))

  test('waits before anything is judged or asked: it makes no request', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const [first, second] = await desk.calls([{ name: 'work' }, { name: 'pay', args: { amount: 1 } }])
      if (first === undefined || second === undefined) throw new Error('Expected two calls.')
      const worker = limited(desk, { toolCallsPerMinute: 1 })
      await runTool(worker, first)
      expect(await runTool(worker, second)).toMatchObject({ type: 'wait' })
      expect(await desk.told('action.required')).toEqual([])
    }))

  test('of a terminated thread is not waited for', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const [first, second] = await desk.calls([{ name: 'work' }, { name: 'work' }])
      if (first === undefined || second === undefined) throw new Error('Expected two calls.')
      const worker = limited(desk, { toolCallsPerMinute: 1 })
      await runTool(worker, first)
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await runTool(worker, second)).toEqual({ type: 'terminated' })
    }))

  test('is not let through when the limit cannot be read', () =>
    withDesk({ work: () => success('done') }, async (desk) => {
      const call = await desk.call('work')
      const worker = limited(
        desk,
        { toolCallsPerMinute: 1 },
        failingStore(desk.store, () => true),
      )
      expect(await failureOf(runTool(worker, call))).toMatchObject({ code: 'unavailable' })
      expect(await desk.told('tool.started')).toEqual([])
    }))
})

describe('tokens of an account', () => {
  test('are counted behind an answer; the next request waits, as the same operation, and uses no patience for providers', () => {
    const chat = scriptedModel([SAID, SAID])
    return withDesk({ chat }, async (desk) => {
      const worker = limited(desk, { tokensPerMinute: 100 })
      const drain = drainOf(await desk.send('Please.'))
      const first = await runModel(worker, modelInput({ drain }))
      expect(first).toMatchObject({ type: 'answered' })
      expect(await usedTokens(desk)).toBe(100)
      const next = modelInput({ run: 2, drain: drainOf(await desk.send('Again?')) })
      const answer = await runModel(worker, next)
      expect(answer).toMatchObject({ type: 'wait', cause: 'limit' })
      expect(answer).not.toHaveProperty('storedNothing')
      expect(chat.requests).toHaveLength(1)
      const held = await desk.store.read((db) => findOperation(db, 't', 'model_2_1'))
      expect(held).toMatchObject({ state: 'drained', attempt: 1 })
      expect(await desk.store.read((db) => readWaitTime(db, { threadId: 't', number: 2 }))).toBe(0)
      await letMinutePass(desk)
      expect(await runModel(worker, { ...next, now: NOW + 61_000 })).toMatchObject({ type: 'answered' })
      expect(chat.requests).toHaveLength(2)
      expect((await desk.told('model.failed')).length).toBe(0)
      expect((await desk.transcript()).map(({ content }) => content)).toEqual([
        ...['Please.', 'Done.', 'Again?', 'Done.'],
      ])
    })
  })

  test('of a repeated attempt that is answered from its row are not counted again', () =>
    withDesk({ chat: scriptedModel([SAID]) }, async (desk) => {
      const worker = limited(desk, { tokensPerMinute: 1000 })
      const input = modelInput({ drain: drainOf(await desk.send('Please.')) })
      await runModel(worker, input)
      await runModel(worker, input)
      expect(await usedTokens(desk)).toBe(100)
    }))

  test('of a prompt that the code of a tool runs count, too', () =>
    withDesk(
      {
        chat: scriptedModel([{ toolCalls: [{ name: 'work' }] }, SAID]),
        work: async (state) => state.invokeTool('digest', { text: 'x' }),
      },
      async (desk) => {
        const drain = drainOf(await desk.send('Please.'))
        const made = await runModel(desk.dependencies, modelInput({ drain }))
        if (made.type !== 'answered') throw new Error('Expected an answer.')
        const [{ id: callId, name } = { id: '', name: '' }] = made.calls
        const call = {
          ...{ ...modelInput(), ...PLAIN_CALL, callId, name, plan: made.plan?.digest ?? '' },
          ...{ sideSteps: { a: 1, b: 0 }, first: true, last: true },
        }
        await runTool(limited(desk, { tokensPerMinute: 1000 }), call)
        expect(await usedTokens(desk)).toBe(100)
      },
    ))

  test('that cannot be counted cost no answer, and the log says so', () =>
    withDesk({ chat: scriptedModel([SAID]) }, async (desk) => {
      const worker = limited(
        desk,
        { tokensPerMinute: 100 },
        failingStore(desk.store, () => true),
      )
      const { environment, logged } = loggingAttempt()
      const drain = drainOf(await desk.send('Please.'))
      expect(await runModel(worker, modelInput({ drain }), environment)).toMatchObject({ type: 'answered' })
      expect(logged).toEqual(['Tokens could not be counted.'])
    }))
})
