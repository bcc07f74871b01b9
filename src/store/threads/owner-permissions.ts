/** Rules of an account, or of a user. They hold for all threads of that owner, also for those that run. */
import type { Permissions } from '../../policy/permissions.js'
import type { Micros } from '../../protocol/time.js'
import type { Reader, Writer } from '../store.js'

/** An account with all of its users, a user of an account, or a user of threads without an account. */
export type PermissionsOwner =
  | { readonly account: string; readonly userId?: string }
  | { readonly account?: string; readonly userId: string }

interface OwnedPermissions {
  readonly owner: PermissionsOwner
  readonly permissions: Permissions
  readonly now: Micros
}

/** Replaces the rules of an account or a user. */
export async function putOwnerPermissions(
  tx: Writer,
  { owner: { account = '', userId = '' }, permissions, now }: OwnedPermissions,
): Promise<void> {
  const rules = { permissions: JSON.stringify(permissions), updated_at: now }
  await tx
    .insertInto('owner_permissions')
    .values({ account, user_id: userId, ...rules })
    .onConflict((conflict) => conflict.columns(['account', 'user_id']).doUpdateSet(rules))
    .execute()
}

export async function deleteOwnerPermissions(
  tx: Writer,
  { account = '', userId = '' }: PermissionsOwner,
): Promise<void> {
  await tx
    .deleteFrom('owner_permissions')
    .where('account', '=', account)
    .where('user_id', '=', userId)
    .execute()
}

/** Null: the account or user has none. */
export async function findOwnerPermissions(
  db: Reader,
  { account = '', userId = '' }: PermissionsOwner,
): Promise<Permissions | null> {
  const row = await db
    .selectFrom('owner_permissions')
    .select('permissions')
    .where('account', '=', account)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  // Checked before it was written: the store's boundary.
  return row === undefined ? null : (JSON.parse(row.permissions) as Permissions)
}
