import { expect, test } from 'vitest'
import { rememberRequest } from '../../src/activities/budget/charge.js'
import { readSpending } from '../../src/store/budgets/spending.js'
import type { Spent } from '../../src/policy/budget-judgement.js'
import { scriptedModel } from '../../src/testing/index.js'
import { modelInput, runModel, runTool, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { success } from './tool-outcomes.js'

const TREE = { owner: 'tree:t', period: 'total' } as const
const BUDGETS = { tree: { maxModelCalls: 10, maxToolCalls: 10, maxOutputTokens: 1_000_000 } }

const spent = async ({ store }: ActivityDesk) => (await store.read((db) => readSpending(db, TREE))).spent

/** Another process charges its calls to the tree. */
async function chargeElsewhere({ store }: ActivityDesk, added: Partial<Spent>): Promise<void> {
  const { spent: before, held, warned, limits, raised } = await store.read((db) => readSpending(db, TREE))
  const state = { spent: { ...before, ...added }, held, warned, limits, raised }
  await store.write((tx) =>
    tx
      .updateTable('spending')
      .set({ state: JSON.stringify(state) })
      .where('owner', '=', TREE.owner)
      .execute(),
  )
}

/** Runs `work` after a step with one call that this process has charged. */
function afterStep(
  work: (
    desk: ActivityDesk,
    run: { model(): ReturnType<typeof runModel>; tool(): ReturnType<typeof runTool> },
  ) => Promise<void>,
): Promise<void> {
  const chat = scriptedModel([1, 2].map(() => ({ toolCalls: [{ name: 'work' }] })))
  return withDesk({ work: () => success('done'), chat }, async (desk) => {
    const budgeted = { ...desk.dependencies, budgets: BUDGETS }
    const [first, second] = await desk.calls([{ name: 'work' }, { name: 'work' }])
    if (first === undefined || second === undefined) throw new Error('Expected two calls.')
    const model = (step: number) => runModel(budgeted, modelInput({ step, plan: first.plan, trigger: null }))
    expect(await model(2)).toMatchObject({ type: 'answered' })
    expect(await runTool(budgeted, first)).toMatchObject({ type: 'result' })
    await work(desk, { model: () => model(3), tool: () => runTool(budgeted, second) })
  })
}

test('calls that another process has charged in between are counted', () =>
  afterStep(async (desk, { model, tool }) => {
    await chargeElsewhere(desk, { modelCalls: 8 })
    expect(await model()).toMatchObject({ type: 'answered' })
    await chargeElsewhere(desk, { toolCalls: 6 })
    expect(await tool()).toMatchObject({ type: 'result', outcome: 'succeeded' })
    expect(await spent(desk)).toMatchObject({ modelCalls: 9, toolCalls: 7 })
  }))

test('a call does not begin if another process has used what was left', () =>
  afterStep(async (desk, { model, tool }) => {
    await chargeElsewhere(desk, { modelCalls: 10, toolCalls: 10 })
    expect(await model()).toMatchObject({ type: 'end', reason: 'budget_exceeded' })
    expect(await tool()).toMatchObject({ type: 'end', reason: 'budget_exceeded' })
    expect(await spent(desk)).toMatchObject({ modelCalls: 10, toolCalls: 10 })
  }))

/** As another process, which does not know what the request has used. */
const forget = (): void =>
  rememberRequest('t', { operation: 'another', number: 1, logged: { usage: null, error: null } })

test.each([
  ['its process makes the next charge', () => {}],
  ['another process makes the next charge', forget],
])('what a request has used is counted where %s', (_, before) =>
  afterStep(async (desk, { model }) => {
    before()
    expect(await spent(desk)).toMatchObject({ inputTokens: 0, outputTokens: 0 })
    await model()
    const once = await spent(desk)
    expect(once.outputTokens).toBeGreaterThan(0)
    const { detail } = await desk.store.read((db) =>
      db.selectFrom('operations').select('detail').where('id', '=', 'model_1_2').executeTakeFirstOrThrow(),
    )
    const { requests } = JSON.parse(String(detail)) as {
      readonly requests: readonly { readonly usage: Partial<Spent> }[]
    }
    expect(once).toMatchObject({
      inputTokens: requests[0]?.usage.inputTokens,
      outputTokens: requests[0]?.usage.outputTokens,
      cost: requests[0]?.usage.cost,
    })
  }),
)
