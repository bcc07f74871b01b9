import { lowestOf, raiseLimits } from '../../policy/budget.js'
import { usedOf } from '../../policy/budget-judgement.js'
import type { BudgetLimit, BudgetPeriod, BudgetScope } from '../../protocol/event-codes.js'
import type { Reader } from '../store.js'
import { readSpending } from './spending.js'
import { ownersOf, readSubjects } from './subjects.js'

/** A budget that holds for a thread, and what is used of it. */
export interface BudgetState {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  /** The limits in their own units, as persons have raised them. */
  readonly limits: Readonly<Partial<Record<BudgetLimit, number>>>
  /** What is used of each of these limits. Requests in flight count once they have ended. */
  readonly used: Readonly<Partial<Record<BudgetLimit, number>>>
}

/**
 * The budgets that hold for a run, from the widest to the narrowest. Those that only the code of a worker or an agent gives are known from
 * the first call that was charged to them.
 */
export async function readBudgetState(
  db: Reader,
  run: { readonly threadId: string; readonly run: number },
): Promise<readonly BudgetState[]> {
  const sources = { worker: undefined, agent: undefined, stored: 'unread' } as const
  const { all: subjects } = await readSubjects(db, run, sources)
  const states: BudgetState[] = []
  for (const { scope, period, owner } of await ownersOf(db, run)) {
    const spending = await readSpending(db, { owner, period })
    const known = subjects.find((one) => one.owner === owner && one.period === period)
    const given = lowestOf(raiseLimits(known?.limits ?? [], spending.raised))
    // What only code limits is as the newest charge found it.
    const charged = scope === 'account' || scope === 'user' ? {} : spending.limits
    const limits: BudgetState['limits'] = { ...charged, ...given, ...both(charged, given) }
    // Keys of the object above.
    const names = Object.keys(limits) as BudgetLimit[]
    if (names.length === 0) continue
    const used = Object.fromEntries(names.map((name) => [name, usedOf(spending.spent, name)]))
    states.push({ scope, period, limits, used })
  }
  return states
}

/** Of limits that both have, the lower ones. */
function both(one: BudgetState['limits'], other: BudgetState['limits']): BudgetState['limits'] {
  // Keys of the object.
  const names = (Object.keys(one) as BudgetLimit[]).filter((name) => other[name] !== undefined)
  return Object.fromEntries(
    names.map((name) => [name, Math.min(one[name] ?? Infinity, other[name] ?? Infinity)]),
  )
}
