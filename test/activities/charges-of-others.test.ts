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

/** The next step. */
interface NextStep {
  model(): ReturnType<typeof runModel>
  tool(): ReturnType<typeof runTool>
}

type Reply = Exclude<Parameters<typeof scriptedModel>[0], readonly unknown[]>

const CALLS = { toolCalls: [{ name: 'work' }] }

/** Runs `work` after a step with one call that this process has charged. */
function afterStep(
  work: (desk: ActivityDesk, next: NextStep) => Promise<void>,
  reply: Reply = () => CALLS,
): Promise<void> {
  const chat = scriptedModel(reply)
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
const forget = (): void => rememberRequest('t', 'another', { usage: null, error: null })

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

test('what a request of another store of this process has used is not taken for that of this one', () => {
  const long: Reply = () => ({
    ...CALLS,
    usage: { inputTokens: 10, outputTokens: 7_000, cachedInputTokens: 0 },
  })
  return afterStep(async (desk, { model }) => {
    await afterStep(async () => {}, long)
    await model()
    const { outputTokens } = await spent(desk)
    expect(outputTokens).toBeGreaterThan(0)
    expect(outputTokens).toBeLessThan(7_000)
  })
})

test('a call of a tool is charged, however many requests of other threads have ended during its model call', () => {
  const others: Reply = () => {
    for (let n = 0; n < 5_000; n += 1) rememberRequest(`other-${n}`, 'one', { usage: null, error: null })
    return CALLS
  }
  return afterStep(async (desk, { model, tool }) => {
    await model()
    await tool()
    expect(await spent(desk)).toMatchObject({ modelCalls: 2, toolCalls: 2 })
  }, others)
})
