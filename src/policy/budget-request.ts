/** What the row of a request to raise a limit holds: the limit, and who may raise it. */
import type { BudgetFact } from '../protocol/event-codes.js'
import type { Micros } from '../protocol/time.js'
import type { JsonObject } from '../protocol/values.js'
import type { CombinedApproval } from './approval.js'
import { limitProblem } from './budget.js'

export interface BudgetDetail extends BudgetFact {
  /** The subject whose row has what was used, and its period. */
  readonly owner: string
  readonly beganAt: Micros
  /** The run that asks. */
  readonly run: number
  /** The call that does not fit: the id of its operation. */
  readonly operation: string
  readonly approval: CombinedApproval
  /** The user for whom the thread works. */
  readonly requester: string | null
  /** The call has gone on with the answer. */
  readonly taken?: true
}

/** The detail of a request; null for one of another kind. */
export function budgetDetailOf({
  kind,
  detail,
}: {
  readonly kind: string
  readonly detail: JsonObject | null
}): BudgetDetail | null {
  // Written by `stopAtBudget`: the store's boundary.
  return kind === 'budget' && detail !== null ? (detail as unknown as BudgetDetail) : null
}

/** The new limit of an approval that names none: as much again, on top of what is used. */
export function raisedBy({ most, used }: Pick<BudgetFact, 'most' | 'used'>): number {
  return most + Math.max(most, used)
}

/** What is wrong with the new limit that a person gives. */
export function raiseProblem({ limit, most, used }: BudgetDetail, raise: number): string | undefined {
  const wrong = limitProblem(limit, raise)
  if (wrong !== undefined) return wrong
  const least = Math.max(most, used)
  return raise > least ? undefined : `expected ${limit} above ${least}, got ${raise}`
}
