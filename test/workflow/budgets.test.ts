import { setTimeout as delay } from 'node:timers/promises'

import { expect, test } from 'vitest'

import type { Budget } from '../../src/index.js'
import {
  budgetDesk,
  budgetDeskOf,
  budgetEvents,
  budgetRequestOf,
  done,
  look,
  models,
  tools,
} from '../support/budget-desk.js'
import type { EventType } from '../../src/protocol/events.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

threeModes({ registry: budgetDesk, models, tools }, (mode) => {
  const { start } = budgetDeskOf(mode)

  const ends: readonly (readonly [Budget, { readonly requests: number; readonly looks: number }])[] = [
    [{ maxSteps: 2 }, { requests: 2, looks: 2 }],
    [{ maxModelCalls: 3 }, { requests: 3, looks: 3 }],
    [{ maxToolCalls: 1 }, { requests: 2, looks: 1 }],
    [{ maxOutputTokens: 26 }, { requests: 3, looks: 3 }],
    [{ maxInputTokens: 1_000 }, { requests: 2, looks: 2 }],
    [{ maxRuntimeSeconds: 5 }, { requests: 1, looks: 1 }],
  ]

  test.each(ends)(
    'PL-RC.9 PL-LC.6 PL-CM.3 PL-CM.4 with %o the call at the limit is made, and the next one is not',
    async (run, made) => {
      let looks = 0
      const { thread, voices } = await start({
        voices: {
          lead: Array.from({ length: 10 }, () => ({
            ...look,
            ...(run.maxInputTokens !== undefined && { usage: { inputTokens: 400 } }),
          })),
        },
        look: async () => {
          looks += 1
          if (run.maxRuntimeSeconds !== undefined) await delay(5_200)
          return { status: 'success', result: marked('Seen') }
        },
        budgets: { run },
      })
      expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'budget_exceeded' })
      expect({ requests: voices['lead']?.requests.length, looks }).toEqual(made)
      const events = await budgetEvents(thread)
      expect(events.map(({ type }) => type)).toEqual(['budget.warning', 'budget.exceeded'])
      const { messages } = await thread.messages()
      expect(messages.at(-1)).toMatchObject({
        status: 'failed',
        content: expect.stringContaining('the budget of this run'),
      })
    },
  )

  test('PL-RC.9 money is counted by prices, and bounds the next answer', async () => {
    const usage = { inputTokens: 1_000, outputTokens: 100, cachedInputTokens: 0 }
    const { thread, voices } = await start({
      voices: { lead: [{ ...look, usage }, { ...look, usage }, done] },
      budgets: { run: { maxCost: 0.0025 } },
    })
    // Each costs 1,000 + 200 millionths; 100 are left then, and the estimate of the next request does not fit.
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'budget_exceeded', usage: { cost: 2_400 } })
    const bounds = voices['lead']?.requests.map(({ raw }) => raw.maxOutputTokens)
    expect(bounds).toHaveLength(2)
    expect(bounds?.[0]).toBeGreaterThan(bounds?.[1] ?? 0)
    expect(bounds?.[1]).toBeLessThanOrEqual(650)
  })

  test('a limit of the cost refuses a model without prices by its name', async () => {
    const { thread, voices } = await start({
      ...{ agent: 'free', voices: { free: [done] }, budgets: { run: { maxCost: 1 } } },
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'budget_exceeded' })
    expect(voices['free']?.requests).toEqual([])
    expect((await thread.messages()).messages.at(-1)?.content).toContain('"unpriced" is not known')
  })

  test('AR-SN.11 a person raises a limit, and the same run goes on', async () => {
    const { thread, voices } = await start({
      voices: { lead: [look, look, look, done] },
      budgets: { run: { maxModelCalls: 2, onExceeded: 'ask' } },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const request = await budgetRequestOf(thread)
    expect(request).toMatchObject({ limit: 'maxModelCalls', scope: 'run', most: 2, used: 2 })
    await thread.respond(request.id, { approved: true, raise: 10 })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', runId: 'run_1', steps: 4 })
    expect(voices['lead']?.requests).toHaveLength(4)
    const budget = await thread.budget()
    expect(budget).toEqual([
      { scope: 'run', period: 'total', limits: { maxModelCalls: 10 }, used: { maxModelCalls: 4 } },
    ])
    expect((await thread.routing()).budgets).toEqual(budget)
    const told = (await budgetEvents(thread)).map(({ type }) => type)
    expect(told).toEqual(['budget.warning', 'budget.exceeded', 'budget.raised'])
  })

  test('without approval the run ends, and the next one has a budget of its own', async () => {
    const { thread, voices } = await start({
      voices: { lead: [look, done] },
      budgets: { run: { maxModelCalls: 1, onExceeded: 'ask' } },
    })
    await thread.waitUntilIdle()
    const { id } = await budgetRequestOf(thread)
    await thread.respond(id, { approved: false, reason: marked('Too dear') })
    expect(await thread.waitUntilIdle()).toMatchObject({
      status: 'idle',
      reason: 'budget_exceeded',
      steps: 1,
    })
    await thread.send(marked('Again'))
    expect(await thread.waitUntilIdle()).toMatchObject({ runId: 'run_2', reason: 'stop_on_response' })
    expect(voices['lead']?.requests).toHaveLength(2)
  })

  test('AR-S3.11 AR-EF.7 what is estimated, spent, low and refused is joined by run, step and request', async () => {
    const { thread } = await start({
      voices: { lead: [look, look, look, done] },
      budgets: { run: { maxModelCalls: 2, onExceeded: 'ask' } },
    })
    await thread.waitUntilIdle()
    const { id: requestId } = await budgetRequestOf(thread)
    await thread.respond(requestId, { approved: true })
    await thread.waitUntilIdle()
    const facts = await factsOf(thread)
    const of = <Type extends EventType>(type: Type) =>
      facts.flatMap((fact) => (fact.type === type ? [fact as Extract<typeof fact, { type: Type }>] : []))
    const steps = of('step.started').map(({ stepId }) => stepId)
    expect(steps).toHaveLength(4)
    // Estimated and recorded: once a step, with the prices that make costs of tokens.
    for (const type of ['context.resolved', 'model.requested', 'model.completed'] as const)
      expect(of(type).map(({ stepId }) => stepId)).toEqual(steps)
    expect(of('context.resolved').every(({ payload }) => Number(payload.estimatedTokens) > 0)).toBe(true)
    const prices = of('model.requested').map(({ payload }) => payload.routing.candidates[0]?.inputPrice)
    expect(prices).toEqual(steps.map(() => 1))
    const costs = of('model.completed').map(({ payload }) => Number(payload.usage.cost))
    expect(costs.reduce((sum, cost) => sum + cost, 0)).toBe((await thread.usage()).cost)
    // Low and refused: in the step whose call it was, with the request that a person answered.
    const told = [of('budget.warning'), of('budget.exceeded'), of('budget.raised')]
    expect(told.map(([fact]) => [fact?.runId, fact?.stepId])).toEqual([
      ['run_1', steps[1]],
      ['run_1', steps[2]],
      ['run_1', steps[2]],
    ])
    const requests = facts.flatMap(({ payload }) => ('requestId' in payload ? [payload.requestId] : []))
    expect(new Set(requests)).toEqual(new Set([requestId]))
  })

  test('a call of a tool waits for more budget, and runs once', async () => {
    let looks = 0
    const { thread } = await start({
      voices: { lead: [look, look, done] },
      look: () => {
        looks += 1
        return { status: 'success', result: marked('Seen') }
      },
      budgets: { thread: { maxToolCalls: 1, onExceeded: 'ask' } },
    })
    await thread.waitUntilIdle()
    const { id, limit } = await budgetRequestOf(thread)
    expect([limit, looks]).toEqual(['maxToolCalls', 1])
    await thread.respond(id, { approved: true })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', runId: 'run_1' })
    expect(looks).toBe(2)
  })

  test('a limit that a person raises leaves the lower one of another source as it is', async () => {
    const { thread, voices } = await start({
      agent: 'bounded',
      voices: { lead: Array.from({ length: 9 }, () => look) },
      budgets: { run: { maxModelCalls: 2, onExceeded: 'ask' } },
    })
    await thread.waitUntilIdle()
    await thread.respond((await budgetRequestOf(thread)).id, { approved: true, raise: 1_000 })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'budget_exceeded' })
    expect(voices['lead']?.requests).toHaveLength(4)
    expect((await thread.budget())[0]?.limits).toEqual({ maxModelCalls: 4 })
  })

  test('a no ends the run, also where the call would fit by then', async () => {
    const account = `denied-${mode.mode}`
    const approval = { roles: ['boss'] }
    const budgets = (most: number) => ({ day: { maxModelCalls: most, onExceeded: 'ask', approval } }) as const
    await mode.env.threads.setBudgets({ account }, budgets(1))
    const { thread } = await start({ account, voices: { lead: [look, done] } })
    await thread.waitUntilIdle()
    const { id } = await budgetRequestOf(thread)
    await mode.env.threads.setBudgets({ account }, budgets(100))
    await thread.respond(id, { approved: false }, { caller: { account, user: 'mia', roles: ['boss'] } })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'budget_exceeded', steps: 1 })
  })

  test('one answer releases all threads that wait for the same limit', async () => {
    const account = `many-${mode.mode}`
    const approval = { roles: ['boss'] }
    const waiting = []
    await mode.env.threads.setBudgets({ account }, { day: { maxModelCalls: 1, onExceeded: 'ask', approval } })
    for (let index = 0; index < 3; index += 1) {
      const { thread } = await start({ account, voices: { lead: [look, done] } })
      await thread.waitUntilIdle()
      waiting.push(thread)
    }
    const [first] = waiting
    if (first === undefined) throw new Error('Expected a thread.')
    const { id } = await budgetRequestOf(first)
    await first.respond(
      id,
      { approved: true, raise: 100 },
      { caller: { account, user: 'mia', roles: ['boss'] } },
    )
    for (const thread of waiting)
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', runId: 'run_1' })
  })

  test('a thread in which nobody can be asked ends instead', async () => {
    const { thread } = await start({
      voices: { lead: [look] },
      ...{ interactive: false, budgets: { run: { maxSteps: 1, onExceeded: 'ask' } } },
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'budget_exceeded' })
  })

  test('the model reads what is left, behind all else', async () => {
    const { thread, voices } = await start({
      voices: { lead: [look, done] },
      budgets: { run: { maxModelCalls: 5, tellModel: true }, tree: { maxCost: 1 } },
    })
    await thread.waitUntilIdle()
    const last = voices['lead']?.requests.map(({ messages }) => messages.at(-1)?.text)
    expect(last).toEqual([
      expect.stringContaining('Budget left before this answer: 5 of 5 model calls.'),
      expect.stringContaining('Budget left before this answer: 4 of 5 model calls.'),
    ])
  })

  test('a prompt that a tool calls in place is counted, and refused once nothing is left', async () => {
    const answers: string[] = []
    const { thread, voices } = await start({
      voices: { lead: [look, look, done], draft: [{ text: marked('A draft') }] },
      look: async (state) => {
        const answer = await state.invokeTool('draft', { task: marked('Draft') })
        answers.push(answer.status === 'error' ? (answer.error ?? '') : 'drafted')
        return { status: 'success', result: marked('Seen') }
      },
      budgets: { run: { maxModelCalls: 3 } },
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'budget_exceeded' })
    expect(answers).toEqual(['drafted', expect.stringContaining('the budget of this run, 3 model calls')])
    expect(voices['draft']?.requests).toHaveLength(1)
    expect((await thread.budget())[0]?.used).toEqual({ maxModelCalls: 3 })
  })

  test('a prompt as a tool is charged, and waits for more budget within its call', async () => {
    const draft = { toolCalls: [{ name: 'draft', args: { task: marked('Draft') } }] }
    const { thread, voices } = await start({
      voices: { lead: [draft, done], draft: [{ text: marked('A draft') }] },
      budgets: { run: { maxModelCalls: 1, onExceeded: 'ask' } },
    })
    await thread.waitUntilIdle()
    const { id } = await budgetRequestOf(thread)
    expect(voices['draft']?.requests).toEqual([])
    await thread.respond(id, { approved: true, raise: 3 })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', runId: 'run_1' })
    expect((await thread.budget())[0]?.used).toEqual({ maxModelCalls: 3 })
  })

  test('a stop while a person is asked closes the request', async () => {
    const { thread } = await start({
      voices: { lead: [look, done] },
      budgets: { run: { maxModelCalls: 1, onExceeded: 'ask' } },
    })
    await thread.waitUntilIdle()
    const { id } = await budgetRequestOf(thread)
    await thread.stop()
    expect((await thread.waitUntilIdle()).status).toBe('stopped')
    await expect(thread.respond(id, { approved: true })).rejects.toThrow('was ended')
  })

  test('budgets of an account hold for all of its threads, and those that ask name who may raise them', async () => {
    const account = `acme-${mode.mode}`
    const { threads } = mode.env
    await threads.setBudgets({ account }, { day: { maxModelCalls: 3 } })
    const reasons: (string | null)[] = []
    for (let index = 0; index < 2; index += 1) {
      const { thread } = await start({ account, voices: { lead: [look, done] } })
      reasons.push((await thread.waitUntilIdle()).reason)
    }
    expect(reasons).toEqual(['stop_on_response', 'budget_exceeded'])
    const asking = { day: { maxModelCalls: 3, onExceeded: 'ask' } } as const
    await expect(threads.setBudgets({ account }, asking)).rejects.toThrow('approval.roles')
    const approval = { roles: ['treasurer'] }
    await threads.setBudgets({ account }, { day: { ...asking.day, approval } })
    const { thread } = await start({ account, voices: { lead: [done] } })
    await thread.waitUntilIdle()
    const { id } = await budgetRequestOf(thread)
    await expect(thread.respond(id, { approved: true })).rejects.toThrow('treasurer')
    await thread.respond(
      id,
      { approved: true, raise: 9 },
      { caller: { account, user: 'ann', roles: ['treasurer'] } },
    )
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', runId: 'run_1' })
  })
})
