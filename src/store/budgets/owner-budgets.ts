/** Budgets of an account, or of a user. They hold for all threads of that owner, also for those that run. */
import type { OwnerBudgets } from '../../policy/budget.js'
import type { Micros } from '../../protocol/time.js'
import type { Reader, Writer } from '../store.js'
import { forgetRaised } from './spending.js'
import { ownerName } from './subjects.js'
import type { PermissionsOwner } from '../threads/owner-permissions.js'

/** An account with all of its users, a user of an account, or a user of threads without an account. */
export type BudgetOwner = PermissionsOwner

interface OwnedBudgets {
  readonly owner: BudgetOwner
  /** Null removes them. */
  readonly budgets: OwnerBudgets | null
  readonly now: Micros
}

/** Replaces the budgets of an account or a user, and forgets what persons have raised. */
export async function putOwnerBudgets(
  tx: Writer,
  { owner: { account = '', userId = '' }, budgets, now }: OwnedBudgets,
): Promise<void> {
  await forgetRaised(tx, ownerName({ ...(account !== '' && { account }), ...(userId !== '' && { userId }) }))
  if (budgets === null) {
    await tx
      .deleteFrom('owner_budgets')
      .where('account', '=', account)
      .where('user_id', '=', userId)
      .execute()
    return
  }
  const given = { budgets: JSON.stringify(budgets), updated_at: now }
  await tx
    .insertInto('owner_budgets')
    .values({ account, user_id: userId, ...given })
    .onConflict((conflict) => conflict.columns(['account', 'user_id']).doUpdateSet(given))
    .execute()
}

/** Null: the account or user has none. */
export async function findOwnerBudgets(
  db: Reader,
  { account = '', userId = '' }: BudgetOwner,
): Promise<OwnerBudgets | null> {
  const row = await db
    .selectFrom('owner_budgets')
    .select('budgets')
    .where('account', '=', account)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  // Checked before it was written: the store's boundary.
  return row === undefined ? null : (JSON.parse(row.budgets) as OwnerBudgets)
}
