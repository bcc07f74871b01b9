import { StatementSync } from 'node:sqlite'

import type { Kysely, PluginTransformQueryArgs, PluginTransformResultArgs } from 'kysely'
import { expect, test, vi } from 'vitest'

import type { Budgets } from '../../src/policy/budget.js'
import type { Schema } from '../../src/store/schema.js'
import { chargeBeside } from '../../src/activities/budget/charge.js'
import { lockSpendings, readSpending, writeSpendings } from '../../src/store/budgets/spending.js'
import { readActionContext } from '../../src/store/threads/run-context.js'
import { scriptedModel } from '../../src/testing/index.js'
import { drainOf, failingStore, modelInput, runModel, runTool, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { success } from './tool-outcomes.js'

/** The same worker, whose writes are counted. */
function counting({ dependencies, store }: ActivityDesk) {
  const counted = failingStore(store, () => false)
  return { counted, dependencies: { ...dependencies, store: counted } }
}

test('T2 T4 a model call commits three times', () =>
  withDesk({ chat: scriptedModel([{ toolCalls: [{ name: 'work' }] }]) }, async (desk) => {
    const { counted, dependencies } = counting(desk)
    const answer = await runModel(dependencies, modelInput({ drain: drainOf(await desk.send('Please.')) }))
    expect(answer).toMatchObject({ type: 'answered', calls: [{ name: 'work' }] })
    expect(counted.writes).toBe(3)
  }))

test('T2 T4 a model call that drains nothing commits twice', () =>
  withDesk({ chat: scriptedModel([{ toolCalls: [{ name: 'work' }] }]) }, async (desk) => {
    const { plan } = await desk.call('work')
    const { counted, dependencies } = counting(desk)
    const answer = await runModel(dependencies, modelInput({ step: 2, plan, trigger: null }))
    expect(answer).toMatchObject({ type: 'answered', calls: [{ name: 'work' }] })
    expect(counted.writes).toBe(2)
  }))

test('T4 a tool call commits twice', () =>
  withDesk({ work: () => success('done') }, async (desk) => {
    const call = await desk.call('work')
    const { counted, dependencies } = counting(desk)
    expect(await runTool(dependencies, call)).toMatchObject({ type: 'result', outcome: 'succeeded' })
    expect(counted.writes).toBe(2)
  }))

/** Charges of model calls and of calls of tools: on SQLite they are part of the transactions that are there. */
const BUDGETS = { run: { maxSteps: 100 }, tree: { maxModelCalls: 100, maxToolCalls: 100 } }

test('budgets add no transaction on SQLite, neither to a model call nor to a call of a tool', () =>
  withDesk(
    { work: () => success('done'), chat: scriptedModel([{ toolCalls: [{ name: 'work' }] }]) },
    async (desk) => {
      const call = await desk.call('work')
      const { counted, dependencies } = counting(desk)
      const budgeted = { ...dependencies, budgets: BUDGETS }
      await runModel(budgeted, modelInput({ step: 2, plan: call.plan, trigger: null }))
      expect(counted.writes).toBe(2)
      expect(await runTool(budgeted, call)).toMatchObject({ type: 'result', outcome: 'succeeded' })
      expect(counted.writes).toBe(4)
      const { spent } = await desk.store.read((db) => readSpending(db, { owner: 'tree:t', period: 'total' }))
      expect(spent).toMatchObject({ modelCalls: 1, toolCalls: 1 })
    },
  ))

/** The statements of a step with one call, in a thread that has had one. */
async function statementsOfStep(budgets: Budgets | undefined): Promise<number> {
  const replies = [1, 2].map(() => ({ toolCalls: [{ name: 'work' }] }))
  let made = 0
  await withDesk({ work: () => success('done'), chat: scriptedModel(replies) }, async (desk) => {
    const dependencies = { ...desk.dependencies, budgets }
    const calls = await desk.calls([{ name: 'work' }, { name: 'work' }])
    const step = async (number: number): Promise<void> => {
      const call = calls[number - 2]
      if (call === undefined) throw new Error('Expected two calls.')
      await runModel(dependencies, modelInput({ step: number, plan: call.plan, trigger: null }))
      await runTool(dependencies, call)
    }
    await step(2)
    const spies = (['all', 'run'] as const).map((method) => vi.spyOn(StatementSync.prototype, method))
    await step(3)
    made = spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)
    for (const spy of spies) spy.mockRestore()
  })
  return made
}

test('budgets add five updates to a step: of three rows for its model call, and of two for its call of a tool', async () => {
  const plain = await statementsOfStep(undefined)
  expect(plain).toBeGreaterThan(20)
  expect(await statementsOfStep(BUDGETS)).toBe(plain + 5)
})

test('a request beside the call in flight is counted, also where it fits only once others use less than they hold', () =>
  withDesk({}, async ({ store }) => {
    const tree = { owner: 'tree:t', period: 'total', threadId: 't' } as const
    await store.writeLocked(async (tx) => {
      const held = { inputTokens: 1, outputTokens: 100, cost: 0 }
      writeSpendings(
        tx,
        (await lockSpendings(tx, [tree])).map((row) => ({ ...row, held })),
      )
    })
    const need = {
      kind: 'model',
      isStep: false,
      model: 'any',
      inputTokens: 1,
      maxOutputTokens: null,
    } as const
    const prices = { input: null, output: null }
    const sources = {
      worker: { tree: { maxOutputTokens: 100 } },
      agent: undefined,
      stored: 'unread',
    } as const
    const call = { threadId: 't', run: 1, need: { ...need, prices }, now: 1, scope: {} }
    expect(await chargeBeside(store, call, sources)).toBeNull()
    expect((await store.read((db) => readSpending(db, tree))).spent.modelCalls).toBe(1)
  }))

test('a request that does not fit into a budget is noted nowhere, and its run ends', () =>
  withDesk({ chat: scriptedModel([{ text: 'One.' }, { text: 'Two.' }]) }, async (desk) => {
    const { plan } = await desk.call('work')
    const budgeted = { ...desk.dependencies, budgets: { run: { maxModelCalls: 1 } } }
    const step = (number: number) => runModel(budgeted, modelInput({ step: number, plan, trigger: null }))
    expect(await step(2)).toMatchObject({ type: 'answered' })
    const before = (await desk.told('model.requested')).length
    expect(await step(3)).toMatchObject({ type: 'end', reason: 'budget_exceeded' })
    expect(await desk.told('model.requested')).toHaveLength(before)
  }))

test('a policy function gets the context of a run from one statement, whatever it asks about', () =>
  withDesk({}, async (desk) => {
    await desk.call('work')
    let statements = 0
    const counted = {
      transformQuery: ({ node }: PluginTransformQueryArgs) => node,
      // Its text is built once, and it is run each time.
      transformResult: async ({ result }: PluginTransformResultArgs) => ((statements += 1), result),
    }
    const read = await desk.store.read((db) =>
      readActionContext((db as Kysely<Schema>).withPlugin(counted), {
        threadId: 't',
        run: 1,
        step: 1,
        agent: 'clerk',
      }),
    )
    expect(read).toMatchObject({ runId: 't:run_1', sessionId: 't', agentChain: ['clerk'], canceled: false })
    expect(statements).toBe(1)
  }))
