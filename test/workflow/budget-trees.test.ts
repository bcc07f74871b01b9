import { expect, test } from 'vitest'

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
import { marked } from '../support/marker.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'

const CHILDREN = 50

const crew = {
  toolCalls: [
    { name: 'helper', args: { items: Array.from({ length: CHILDREN }, () => ({ task: marked('Help') })) } },
  ],
}
const finish = { toolCalls: [{ name: 'finish', args: { task: marked('Helped') } }] }

threeModes({ registry: budgetDesk, models, tools }, (mode) => {
  const { start } = budgetDeskOf(mode)

  test('50 subagents at once on a budget of a tree make exactly as many calls as it has', async () => {
    const calls = 73
    const { thread, voices } = await start({
      voices: { lead: [crew], help: () => look },
      budgets: { tree: { maxModelCalls: calls } },
    })
    expect(await thread.waitUntilIdle({ timeout: 120_000 })).toMatchObject({ reason: 'budget_exceeded' })
    expect((voices['lead']?.requests.length ?? 0) + (voices['help']?.requests.length ?? 0)).toBe(calls)
    expect(await thread.budget()).toEqual([
      { scope: 'tree', period: 'total', limits: { maxModelCalls: calls }, used: { maxModelCalls: calls } },
    ])
    const { children } = await thread.tree()
    const all = [thread, ...children.map(({ threadId }) => mode.env.threads.get(threadId))]
    const told = await Promise.all(all.map(budgetEvents))
    expect(told.flat().filter(({ type }) => type === 'budget.warning')).toHaveLength(1)
    expect(children).toHaveLength(CHILDREN)
  })

  test('money of a tree is spent to the last answer that fits, and never over its limit', async () => {
    const usage = { inputTokens: 100, outputTokens: 200, cachedInputTokens: 0 }
    const { thread } = await start({
      voices: { lead: [{ ...crew, usage }], help: () => ({ ...look, usage }) },
      // An answer costs 100 + 400 millionths.
      budgets: { tree: { maxCost: 0.02 } },
    })
    expect(await thread.waitUntilIdle({ timeout: 120_000 })).toMatchObject({ reason: 'budget_exceeded' })
    const [budget] = await thread.budget()
    const used = budget?.used.maxCost ?? 0
    expect(used).toBeLessThanOrEqual(0.02)
    expect(used).toBeGreaterThan(0.017)
  })

  test('a subagent that asks for more goes on, and its parent with it', async () => {
    const one = { toolCalls: [{ name: 'helper', args: { items: [{ task: marked('Help') }] } }] }
    const { thread } = await start({
      voices: { lead: [one, done], help: [look, finish] },
      budgets: { tree: { maxModelCalls: 2, onExceeded: 'ask' } },
    })
    await until(
      'the request of the subagent',
      async () => (await mode.env.threads.pendingPage({ root: thread.threadId })).requests.length > 0,
    )
    const [only] = (await thread.tree()).children
    const child = mode.env.threads.get(only?.threadId ?? '')
    const { id } = await budgetRequestOf(child)
    await child.respond(id, { approved: true, raise: 20 })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', runId: 'run_1' })
    expect((await thread.budget())[0]?.used).toEqual({ maxModelCalls: 4 })
  })
})
