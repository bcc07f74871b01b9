/** What people and models are told about budgets. */
import { usedOf } from './budget-judgement.js'
import type { Account, Exceeded } from './budget-judgement.js'
import type { BudgetLimit, BudgetPeriod, BudgetScope } from '../protocol/event-codes.js'

/** One, and several. */
const UNITS: Readonly<Record<Exclude<BudgetLimit, 'maxCost'>, readonly [string, string]>> = {
  maxSteps: ['step', 'steps'],
  maxModelCalls: ['model call', 'model calls'],
  maxToolCalls: ['tool call', 'tool calls'],
  maxRuntimeSeconds: ['second of work', 'seconds of work'],
  maxInputTokens: ['input token', 'input tokens'],
  maxOutputTokens: ['output token', 'output tokens'],
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
  return `The run was ended because ${nameBudget(exceeded)}, does not allow for more; used so far: ${amount(limit.name, used)}.`
}

/** A line for the model about what is left; null: no budget is to be told. */
export function leftText(accounts: readonly Account[]): string | null {
  const parts = accounts.flatMap(({ limits, spent, period }) =>
    limits.flatMap(({ name, most, tellModel }) => {
      if (!tellModel) return []
      const left = Math.max(0, most - usedOf(spent, name))
      return [`${numberOf(name, left)} of ${amount(name, most)}${PERIODS[period]}`]
    }),
  )
  if (parts.length === 0) return null
  return `Budget left before this answer: ${parts.join('; ')}. Finish your work in time.`
}

/** `$0.1200`, or `1 model call` */
function amount(name: BudgetLimit, value: number): string {
  const number = numberOf(name, value)
  if (name === 'maxCost') return number
  const [one, several] = UNITS[name]
  return `${number} ${number === '1' ? one : several}`
}

function numberOf(name: BudgetLimit, value: number): string {
  if (name === 'maxCost') return `$${value.toFixed(value < 1 ? 4 : 2)}`
  return String(name === 'maxRuntimeSeconds' ? Math.round(value) : value)
}
