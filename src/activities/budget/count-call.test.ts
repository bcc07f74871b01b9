import { expect, test } from 'vitest'
import { NOTHING_HELD, NOTHING_SPENT } from '../../policy/budget-judgement.js'
import type { ModelNeed } from '../../policy/budget-judgement.js'
import { limitsOf, lowestOf } from '../../policy/budget.js'
import type { Budget } from '../../policy/budget.js'
import type { Charge, Spending } from '../../store/budgets/spending.js'
import type { BudgetSubject } from '../../store/budgets/subjects.js'
import { countBeside, countModel, countTool, endedIn, isUnsent, ownRow, rowOf } from './count-call.js'
import type { ChargedModel, Counted } from './count-call.js'

const SECOND = 1_000_000
const NEED: ModelNeed = {
  ...{ kind: 'model', isStep: true, model: 'm', inputTokens: 10, maxOutputTokens: 20 },
  prices: { input: 1, output: 2 },
}

const call: ChargedModel = {
  ...{ threadId: 't', run: 1, operation: 'model_1_2', number: 1, need: NEED },
  ...{ scheduledAt: 5, now: 3 * SECOND, scope: {} },
}

const before: Charge = {
  ...{ id: 'one', operation: 'model_1_1', tool: '', run: 1, number: 1, scheduledAt: 1, at: SECOND },
  owners: ['thread:t', 'tree:t'].map((owner) => ({ owner, period: 'total', beganAt: 0 })),
}

function subject(budget: Budget, owner = 'tree:t'): BudgetSubject {
  const limits = limitsOf([budget])
  return { scope: 'tree', period: 'total', owner, threadId: 't', limits, lowest: lowestOf(limits) }
}

function row(owner: string, more: Partial<Spending> = {}): Spending {
  return {
    ...{ owner, period: 'total', beganAt: 0, spent: NOTHING_SPENT, held: NOTHING_HELD },
    ...{ warned: [], limits: {}, raised: {}, charge: null, isHolding: false },
    ...more,
  }
}

/** The rows of a thread and of its tree, in which the call before holds so much. */
function rows(charge: Charge | null = before): readonly Spending[] {
  const held = charge === null ? NOTHING_HELD : { inputTokens: 8, outputTokens: 20, cost: 48 }
  return [row('thread:t', { held, charge }), row('tree:t', { held })]
}

const USED = { inputTokens: 7, outputTokens: 3, cost: 13 }
const TWO = { id: 'two', used: USED }
const tree = ({ rows: counted }: Counted): Spending => rowOf(counted, { owner: 'tree:t', period: 'total' })

test('a request takes the place of what the call before holds, with what that has used, and counts the time since', () => {
  const subjects = [subject({ maxSteps: 9 })]
  const counted = countModel(call, { subjects, rows: rows() }, TWO)
  expect(tree(counted)).toMatchObject({
    spent: { steps: 1, modelCalls: 1, runtime: 2_000, ...USED },
    held: { inputTokens: 10, outputTokens: 20, cost: 50 },
    limits: { maxSteps: 9 },
  })
  expect(ownRow(counted.rows).charge).toEqual({
    ...before,
    id: 'two',
    operation: 'model_1_2',
    scheduledAt: 5,
    at: call.now,
  })
  // The thread has no budget of its own, and so no limits.
  expect(ownRow(counted.rows).limits).toEqual({})
})

test('time between two runs is not counted', () => {
  const counted = countModel({ ...call, run: 2 }, { subjects: [subject({ maxSteps: 9 })], rows: rows() }, TWO)
  expect(tree(counted).spent.runtime).toBe(0)
})

test('time in which a person was waited for is not counted', () => {
  const waiting = { ...call, waitedSince: 1.5 * SECOND }
  const counted = countModel(waiting, { subjects: [subject({ maxSteps: 9 })], rows: rows() }, TWO)
  expect(tree(counted).spent.runtime).toBe(500)
})

test('a request that was charged and not sent is counted once, with what it holds now', () => {
  const unsent = { ...before, operation: call.operation }
  expect(isUnsent(call, unsent)).toBe(true)
  expect(isUnsent({ ...call, number: 2 }, unsent)).toBe(false)
  const spent = { ...NOTHING_SPENT, steps: 4, modelCalls: 4 }
  const counted = countModel(
    call,
    { subjects: [subject({ maxSteps: 4 })], rows: rows(unsent).map((one) => ({ ...one, spent })) },
    { id: 'two', used: NOTHING_HELD },
  )
  expect(counted.judgement.kind).toBe('fits')
  expect(tree(counted)).toMatchObject({ spent: { steps: 4, modelCalls: 4 }, held: { inputTokens: 10 } })
})

test('a second request of a step is a model call more, and no step', () => {
  const retry = { ...call, operation: 'model_1_1', number: 2 }
  const counted = countModel(
    retry,
    { subjects: [subject({ maxSteps: 9 })], rows: rows() },
    { id: 'two', used: NOTHING_HELD },
  )
  expect(tree(counted).spent).toMatchObject({ steps: 0, modelCalls: 1 })
})

test('a request that does not fit ends the call before, and is not counted', () => {
  const subjects = [subject({ maxInputTokens: 16 })]
  const counted = countModel(call, { subjects, rows: rows() }, TWO)
  expect(counted.judgement).toMatchObject({ kind: 'exceeded', exceeded: { used: 7 } })
  expect(tree(counted)).toMatchObject({ spent: { modelCalls: 0, ...USED }, held: NOTHING_HELD })
  expect(ownRow(counted.rows).charge).toMatchObject({ operation: 'model_1_1', at: call.now })
  expect(counted.warnings).toEqual([
    { scope: 'tree', period: 'total', limit: 'maxInputTokens', most: 16, used: 7 },
  ])
})

test('a warning is due once', () => {
  const subjects = [subject({ maxModelCalls: 10, warnAt: 0.1 })]
  const first = countModel(call, { subjects, rows: rows() }, TWO)
  expect(first.warnings.map(({ limit, used }) => [limit, used])).toEqual([['maxModelCalls', 1]])
  const next = { ...call, operation: 'model_1_3' }
  expect(countModel(next, { subjects, rows: first.rows }, TWO).warnings).toEqual([])
})

test('warnings of one call begin with the widest subject', () => {
  const wide = subject({ maxModelCalls: 1 })
  const own: BudgetSubject = { ...subject({ maxModelCalls: 1 }, 'thread:t'), scope: 'thread' }
  const { warnings } = countModel(call, { subjects: [wide, own], rows: rows() }, TWO)
  expect(warnings.map(({ scope }) => scope)).toEqual(['tree', 'thread'])
})

test('a call of a tool is counted beside what the model call holds', () => {
  const tool = { ...call, operation: 'call_1_1_0', number: 0, need: { kind: 'tool' } as const }
  const counted = countTool(tool, { subjects: [subject({ maxToolCalls: 1 })], rows: rows() })
  expect(tree(counted)).toMatchObject({ spent: { toolCalls: 1, runtime: 2_000 }, held: { outputTokens: 20 } })
  expect(ownRow(counted.rows).charge).toMatchObject({ id: 'one', tool: 'call_1_1_0' })
  const second = { ...tool, operation: 'call_1_1_1' }
  const refused = countTool(second, { subjects: [subject({ maxToolCalls: 1 })], rows: counted.rows })
  expect(refused.judgement.kind).toBe('exceeded')
  expect(ownRow(refused.rows).charge?.tool).toBe('call_1_1_0')
  expect(tree(refused).spent.toolCalls).toBe(1)
})

test('a request beside the call in flight holds nothing, and leaves its charge', () => {
  const counted = countBeside(NEED, { subjects: [subject({ maxModelCalls: 1 })], rows: rows() })
  expect(ownRow(counted.rows).charge).toBe(before)
  expect(tree(counted)).toMatchObject({ spent: { modelCalls: 1 }, held: { outputTokens: 20 } })
  const refused = countBeside(NEED, { subjects: [subject({ maxModelCalls: 1 })], rows: counted.rows })
  expect([refused.judgement.kind, tree(refused).spent.modelCalls]).toEqual(['exceeded', 1])
})

test('a charge is ended only in the rows and the periods in which it was made', () => {
  const own = ownRow(rows())
  const { held } = own
  const others = [row('tree:t', { held }), row('tree:t', { held, beganAt: 9 }), row('account:a', { held })]
  const ended = endedIn(others, { own, call, used: USED })
  expect(ended.map(({ spent }) => spent.inputTokens)).toEqual([7, 0, 0])
  expect(endedIn(others, { own: { ...own, charge: null }, call, used: USED })).toBe(others)
})
