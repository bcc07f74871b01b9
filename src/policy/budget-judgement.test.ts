import { expect, test } from 'vitest'
import { judgeBudgets, NOTHING_HELD, NOTHING_SPENT, nearLimits } from './budget-judgement.js'
import type { Account, Held, ModelNeed, Spent } from './budget-judgement.js'
import { leftText, exceededText } from './budget-text.js'
import { limitsOf } from './budget.js'
import type { Budget } from './budget.js'

const need: ModelNeed = {
  kind: 'model',
  isStep: true,
  model: 'm',
  inputTokens: 100,
  maxOutputTokens: 1_000,
  prices: { input: 1, output: 2 },
}

function account(budget: Budget, spent: Partial<Spent> = {}, held: Partial<Held> = {}): Account {
  return {
    scope: 'tree',
    period: 'total',
    limits: limitsOf([budget]),
    spent: { ...NOTHING_SPENT, ...spent },
    held: { ...NOTHING_HELD, ...held },
  }
}

test('without a limit everything fits, and the whole answer is held', () => {
  const held = { inputTokens: 100, outputTokens: 1_000, cost: 2_100 }
  expect(judgeBudgets(need, [])).toEqual({ kind: 'fits', held, maxOutputTokens: null })
  expect(judgeBudgets({ kind: 'tool' }, [])).toEqual({
    ...{ kind: 'fits', held: NOTHING_HELD, maxOutputTokens: null },
  })
})

test.each([
  [{ maxSteps: 3 }, { steps: 2 }, { steps: 3 }],
  [{ maxModelCalls: 3 }, { modelCalls: 2 }, { modelCalls: 3 }],
  [{ maxRuntimeSeconds: 1.5 }, { runtime: 1_499 }, { runtime: 1_500 }],
  [{ maxInputTokens: 300 }, { inputTokens: 200 }, { inputTokens: 201 }],
  [{ maxOutputTokens: 300 }, { outputTokens: 284 }, { outputTokens: 285 }],
  // 100 of input and 16 of output cost 132 millionths.
  [{ maxCost: 0.001 }, { cost: 868 }, { cost: 869 }],
] as const)('with %j a request fits at %j and not at %j', (budget, fits, not) => {
  expect(judgeBudgets(need, [account(budget, fits)]).kind).toBe('fits')
  expect(judgeBudgets(need, [account({ maxSteps: 9 }), account(budget, not)])).toMatchObject({
    ...{ kind: 'exceeded', exceeded: { scope: 'tree', period: 'total' } },
  })
})

test('a tool looks at its own limit and at the time only', () => {
  const spent = { steps: 9, modelCalls: 9, inputTokens: 9_000, outputTokens: 9_000, cost: 9_000_000 }
  const all = { maxSteps: 1, maxModelCalls: 1, maxInputTokens: 1, maxOutputTokens: 1, maxCost: 1 }
  expect(judgeBudgets({ kind: 'tool' }, [account(all, spent)]).kind).toBe('fits')
  expect(judgeBudgets({ kind: 'tool' }, [account({ maxToolCalls: 2 }, { toolCalls: 1 })]).kind).toBe('fits')
  expect(judgeBudgets({ kind: 'tool' }, [account({ maxToolCalls: 2 }, { toolCalls: 2 })]).kind).toBe(
    'exceeded',
  )
  expect(judgeBudgets({ kind: 'tool' }, [account({ maxRuntimeSeconds: 1 }, { runtime: 1_000 })]).kind).toBe(
    'exceeded',
  )
})

test('a repeated request of a step is no step of its own', () => {
  expect(judgeBudgets({ ...need, isStep: false }, [account({ maxSteps: 1 }, { steps: 1 })]).kind).toBe('fits')
})

test('the answer is bounded by what is left of the tightest limit, and no more than that is held', () => {
  const accounts = [
    account({ maxOutputTokens: 500 }, { outputTokens: 100 }),
    account({ maxCost: 0.001 }, { cost: 300 }),
  ]
  // 700 millionths are left, less 100 for the input: 300 tokens of output.
  expect(judgeBudgets(need, accounts)).toEqual({
    kind: 'fits',
    maxOutputTokens: 300,
    held: { inputTokens: 100, outputTokens: 300, cost: 700 },
  })
})

test('what requests in flight hold is waited for, if the call would fit without them', () => {
  const budgets = [
    [{ maxInputTokens: 150 }, { inputTokens: 60 }],
    [{ maxOutputTokens: 100 }, { outputTokens: 90 }],
    [{ maxCost: 0.001 }, { cost: 900 }],
  ] as const
  for (const [budget, held] of budgets)
    expect(judgeBudgets(need, [account(budget, {}, held)])).toEqual({ kind: 'waits' })
  const over = account({ maxOutputTokens: 100 }, { outputTokens: 90 }, { outputTokens: 10 })
  expect(judgeBudgets(need, [over]).kind).toBe('exceeded')
})

test('a model without prices is refused by name where the cost is limited, and free elsewhere', () => {
  const unpriced = { ...need, prices: { input: null, output: 2 } }
  expect(judgeBudgets(unpriced, [account({ maxCost: 1 })])).toMatchObject({
    ...{ kind: 'exceeded', exceeded: { unpriced: 'm' } },
  })
  expect(judgeBudgets(unpriced, [account({ maxSteps: 1 })]).kind).toBe('fits')
  expect(judgeBudgets({ ...need, prices: { input: 0, output: 0 } }, [account({ maxCost: 1 })]).kind).toBe(
    'fits',
  )
})

test('of 2,000 requests at the same time no more is held than a budget has', () => {
  const most = 50_000
  let held = NOTHING_HELD
  for (let index = 0; index < 2_000; index += 1) {
    const judged = judgeBudgets({ ...need, maxOutputTokens: 7 + (index % 900) }, [
      account({ maxOutputTokens: most, maxCost: 0.2 }, {}, held),
    ])
    if (judged.kind !== 'fits') continue
    held = {
      inputTokens: held.inputTokens + judged.held.inputTokens,
      outputTokens: held.outputTokens + judged.held.outputTokens,
      cost: held.cost + judged.held.cost,
    }
  }
  expect(held.outputTokens).toBeLessThanOrEqual(most)
  expect(held.cost).toBeLessThanOrEqual(200_000)
  expect(held.outputTokens).toBeGreaterThan(most - 16)
})

test('a limit is worth a warning from its share on', () => {
  const of = (used: number) =>
    nearLimits(account({ maxSteps: 10, maxCost: 1 }, { steps: used })).map(({ name }) => name)
  expect([of(7), of(8), of(10)]).toEqual([[], ['maxSteps'], ['maxSteps']])
})

test('people and models read sentences', () => {
  const accounts = [account({ maxCost: 1, maxSteps: 5, tellModel: true }, { cost: 880_000, steps: 3 })]
  expect(leftText(accounts)).toBe(
    'Budget left before this answer: $0.1200 of $1.00; 2 of 5 steps. Finish your work in time.',
  )
  expect(leftText([account({ maxCost: 1 })])).toBeNull()
  const [limit] = limitsOf([{ maxCost: 1 }])
  const [calls] = limitsOf([{ maxModelCalls: 1 }])
  if (limit === undefined || calls === undefined) throw new Error('Expected a limit.')
  expect(exceededText({ scope: 'account', period: 'day', limit, used: 0.99999 })).toBe(
    'The run was ended because the budget of its account, $1.00 a day, does not allow for more; used so far: $1.0000.',
  )
  expect(exceededText({ scope: 'account', period: 'day', limit: calls, used: 1 })).toBe(
    'The run was ended because the budget of its account, 1 model call a day, does not allow for more; used so far: 1 model call.',
  )
})
