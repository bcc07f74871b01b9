import { ownerBudgetsProblem } from '../../policy/budget.js'
import type { OwnerBudgets } from '../../policy/budget.js'
import { ConfigError } from '../../protocol/errors.js'
import { nowMicros } from '../../protocol/time.js'
import { findOwnerBudgets, putOwnerBudgets } from '../../store/budgets/owner-budgets.js'
import { readBudgetState } from '../../store/budgets/budget-state.js'
import type { BudgetState } from '../../store/budgets/budget-state.js'
import type { PermissionsOwner } from '../../store/threads/owner-permissions.js'
import { lastRun } from '../../store/threads/runs.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { ownerProblems } from '../owner-permissions.js'

/** Replaces the budgets of an account or a user; null removes them. @throws ConfigError */
export async function setOwnerBudgets(
  context: ClientContext,
  owner: PermissionsOwner,
  budgets: OwnerBudgets | null,
): Promise<void> {
  const wrong = budgets === null ? undefined : ownerBudgetsProblem(budgets ?? null)
  const problems = [...ownerProblems(owner), ...(wrong === undefined ? [] : [`budgets: ${wrong}`])]
  if (problems.length > 0) throw new ConfigError(problems)
  const store = await context.store()
  await store.write((tx) => putOwnerBudgets(tx, { owner, budgets, now: nowMicros() }))
}

/** Reads the budgets of an account or a user; null: it has none. @throws ConfigError */
export async function readOwnerBudgets(
  context: ClientContext,
  owner: PermissionsOwner,
): Promise<OwnerBudgets | null> {
  const problems = ownerProblems(owner)
  if (problems.length > 0) throw new ConfigError(problems)
  const store = await context.store()
  return store.read((db) => findOwnerBudgets(db, owner))
}

/** The budgets of a thread and its newest run, with what is used of them. @throws ThreadNotFoundError */
export async function readThreadBudget(
  context: ClientContext,
  threadId: string,
): Promise<readonly BudgetState[]> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const run = (await lastRun(db, threadId))?.number ?? 0
    return readBudgetState(db, { threadId, run })
  })
}
