import { permissionsProblem } from '../policy/permissions.js'
import type { Permissions } from '../policy/permissions.js'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { nowMicros } from '../protocol/time.js'
import { halfCharacterProblem, isName, isObject } from '../protocol/values.js'
import {
  deleteOwnerPermissions,
  findOwnerPermissions,
  putOwnerPermissions,
} from '../store/threads/owner-permissions.js'
import type { PermissionsOwner } from '../store/threads/owner-permissions.js'
import type { ClientContext } from './client-context.js'

/** Replaces the rules of an account or a user; null removes them. @throws ConfigError */
export async function setOwnerPermissions(
  context: ClientContext,
  owner: PermissionsOwner,
  permissions: Permissions | null,
): Promise<void> {
  const problems = [...ownerProblems(owner), ...rulesProblems(permissions)]
  if (problems.length > 0) throw new ConfigError(problems)
  const store = await context.store()
  await store.write((tx) =>
    permissions === null
      ? deleteOwnerPermissions(tx, owner)
      : putOwnerPermissions(tx, { owner, permissions, now: nowMicros() }),
  )
}

/** Reads the rules of an account or a user; null: it has none. @throws ConfigError */
export async function readOwnerPermissions(
  context: ClientContext,
  owner: PermissionsOwner,
): Promise<Permissions | null> {
  const problems = ownerProblems(owner)
  if (problems.length > 0) throw new ConfigError(problems)
  const store = await context.store()
  return store.read((db) => findOwnerPermissions(db, owner))
}

/** What is wrong with the names of an account or a user. */
export function ownerProblems(owner: unknown): readonly string[] {
  if (!isObject(owner)) return [`Expected { account } or { account, userId }, got ${typeof owner}.`]
  const { account, userId } = owner
  if (account === undefined && userId === undefined)
    return ['Expected "account", "userId" or both, got neither.']
  return Object.entries({ account, userId }).flatMap(([field, value]) => {
    if (value === undefined) return []
    if (!isName(value))
      return [`Expected "${field}" to be a text of 1 to ${LIMITS.threadIdLength} characters, got another.`]
    return halfCharacterProblem(`"${field}"`, value) ?? []
  })
}

function rulesProblems(permissions: unknown): readonly string[] {
  if (permissions === null) return []
  const problem =
    permissions === undefined ? 'expected rules, or null, got undefined' : permissionsProblem(permissions)
  return problem === undefined ? [] : [`permissions: ${problem}`]
}
