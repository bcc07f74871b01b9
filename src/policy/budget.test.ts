import { expect, test } from 'vitest'
import {
  BUDGET_LIMITS,
  budgetProblem,
  budgetsProblem,
  limitProblem,
  limitsOf,
  lowestOf,
  ownerBudgetsProblem,
  raiseLimits,
} from './budget.js'

const wrong = [0, -1, NaN, Infinity, 1_000_000_001, '5', null, true]

test.each(BUDGET_LIMITS)(
  '%s takes no zero, negative, huge or other number, and says what it takes',
  (name) => {
    for (const value of wrong) {
      expect(limitProblem(name, value)).toMatch(new RegExp(`^expected ${name} to be .*, got `))
      expect(budgetProblem({ [name]: value })).toBe(limitProblem(name, value))
    }
    expect(limitProblem(name, 1)).toBeUndefined()
    expect(limitProblem(name, undefined)).toBeUndefined()
  },
)

test('dollars and seconds may have parts, calls and tokens may not', () => {
  expect(budgetProblem({ maxCost: 0.005, maxRuntimeSeconds: 0.5 })).toBeUndefined()
  expect(budgetProblem({ maxSteps: 1.5 })).toContain('a whole number from 1')
})

test.each([
  [null, 'expected a budget such as'],
  [[], 'an array'],
  [{}, 'got none'],
  [{ onExceeded: 'ask' }, 'got none'],
  [{ maxCosts: 1 }, '"maxCosts"'],
  [{ maxCost: 1, onExceeded: 'wait' }, 'expected onExceeded to be "end" or "ask", got "wait"'],
  [{ maxCost: 1, warnAt: 0 }, 'expected warnAt to be a share above 0, at most 1, got 0'],
  [{ maxCost: 1, warnAt: 80 }, 'got 80'],
  [{ maxCost: 1, tellModel: 'yes' }, 'expected tellModel to be true or false'],
  [{ maxCost: 1, approval: { roles: [] } }, 'approval: '],
])('a wrong budget %j gets one sentence', (budget, sentence) => {
  expect(budgetProblem(budget)).toContain(sentence)
  expect(budgetsProblem({ run: budget })).toContain(`run: ${budgetProblem(budget)}`)
})

test('budgets name their subjects, and those of an owner their periods', () => {
  expect(budgetsProblem({ run: { maxSteps: 1 }, tree: undefined })).toBeUndefined()
  expect(budgetsProblem({ day: { maxSteps: 1 } })).toContain('expected run, thread, tree only, got "day"')
  expect(ownerBudgetsProblem({ day: { maxSteps: 1 } })).toBeUndefined()
  expect(ownerBudgetsProblem({ run: { maxSteps: 1 } })).toContain('expected total, hour, day, month only')
  expect(ownerBudgetsProblem({ day: { maxSteps: 1, onExceeded: 'ask' } })).toContain(
    'day: expected approval.roles',
  )
})

test('the limits of several budgets all hold, the lowest first', () => {
  const limits = limitsOf([
    { maxSteps: 10, maxCost: 1, onExceeded: 'ask', warnAt: 0.5 },
    undefined,
    { maxSteps: 5, tellModel: true },
    { maxCost: 1 },
  ])
  expect(limits).toMatchObject([
    { name: 'maxCost', most: 1, onExceeded: 'end' },
    { name: 'maxCost', most: 1, onExceeded: 'ask', warnAt: 0.5 },
    { name: 'maxSteps', most: 5, onExceeded: 'end', warnAt: 0.8, tellModel: true },
    { name: 'maxSteps', most: 10, onExceeded: 'ask' },
  ])
  expect(lowestOf(limits)).toEqual({ maxCost: 1, maxSteps: 5 })
  expect(limitsOf([])).toEqual([])
})

test('a raise is for limits that ask, and not for those that want somebody else', () => {
  const limits = limitsOf([
    { maxSteps: 2, onExceeded: 'ask' },
    { maxSteps: 3 },
    { maxSteps: 4, onExceeded: 'ask', approval: { roles: ['boss'] } },
  ])
  const raised = { maxSteps: { most: 100, approval: {} } }
  expect(raiseLimits(limits, raised).map(({ most }) => most)).toEqual([100, 3, 4])
  const byBoss = { maxSteps: { most: 100, approval: { roles: [['boss']] } } }
  expect(raiseLimits(limits, byBoss).map(({ most }) => most)).toEqual([100, 3, 100])
  expect(raiseLimits(limits, {})).toEqual(limits)
})
