/** What people and models are told about budgets. */
import { usedOf } from './budget-judgement.js'
import type { Account, Exceeded } from './budget-judgement.js'
import type { BudgetLimit, BudgetPeriod, BudgetScope } from '../protocol/event-codes.js'

const UNITS: Readonly<Record<BudgetLimit, string>> = {
  maxSteps: 'steps',
  maxModelCalls: 'model calls',
  maxToolCalls: 'tool calls',
  maxRuntimeSeconds: 'seconds of work',
  maxInputTokens: 'input tokens',
  maxOutputTokens: 'output tokens',
  maxCost: 'dollars',
}

const SUBJECTS: Readonly<Record<BudgetScope, string>> = {
  run: 'this run',
  thread: 'this conversation',
  tree: 'this conversation with its subagents',
  user: 'its user',
  account: 'its account',
}

const PERIODS: Readonly<Record<BudgetPeriod, string>> = {
  total: '',
  hour: ' an hour',
  day: ' a day',
  month: ' a month',
}

/** `the budget of this run, 10 model calls` */
function nameBudget({ scope, period, limit }: Omit<Exceeded, 'used'>): string {
  return `the budget of ${SUBJECTS[scope]}, ${amount(limit.name, limit.most)}${PERIODS[period]}`
}

/** A sentence about the end of a run, which people read. */
export function exceededText(exceeded: Exceeded): string {
  const { unpriced, used, limit } = exceeded
  if (unpriced !== undefined)
    return `The run was ended because the cost of the model "${unpriced}" is not known, and ${nameBudget(exceeded)}, limits the cost: its definition, or the worker, has to give its prices.`
  return `The run was ended because ${nameBudget(exceeded)}, does not allow for more: ${amount(limit.name, used)} are used.`
}

/** A line for the model about what is left; null: no budget is to be told. */
export function leftText(accounts: readonly Account[]): string | null {
  const parts = accounts.flatMap(({ limits, spent, period }) =>
    limits.flatMap(({ name, most, tellModel }) => {
      if (!tellModel) return []
      const left = Math.max(0, most - usedOf(spent, name))
      return [`${amount(name, left)} of ${amount(name, most)}${PERIODS[period]}`]
    }),
  )
  if (parts.length === 0) return null
  return `Budget: ${parts.join('; ')} are left before this answer. Finish your work in time.`
}

function amount(name: BudgetLimit, value: number): string {
  if (name === 'maxCost') return `$${value.toFixed(value < 1 ? 4 : 2)}`
  const rounded = name === 'maxRuntimeSeconds' ? Math.round(value) : value
  return `${rounded} ${UNITS[name]}`
}
