import { expect, test } from 'vitest'

import { readOwnerPermissions, setOwnerPermissions } from './owner-permissions.js'

/** Nothing that is wrong reaches a store. */
const NO_STORE = {} as never
const RULES = { 'orders.*': 'deny' } as const

test.each([
  [{}, 'Expected "account", "userId" or both, got neither.'],
  [{ account: undefined }, 'Expected "account", "userId" or both, got neither.'],
  ['acme', 'Expected { account } or { account, userId }, got string.'],
  [{ account: '' }, 'Expected "account" to be a text of 1 to'],
  [{ account: 'acme', userId: 7 }, 'Expected "userId" to be a text of 1 to'],
  [{ userId: '\ud83d' }, 'Expected "userId" of whole characters'],
])('%j is no owner of rules', async (owner, problem) => {
  await expect(setOwnerPermissions(NO_STORE, owner as never, RULES)).rejects.toThrow(problem)
  await expect(setOwnerPermissions(NO_STORE, owner as never, null)).rejects.toThrow(problem)
  await expect(readOwnerPermissions(NO_STORE, owner as never)).rejects.toThrow(problem)
})

test.each([
  [undefined, 'permissions: expected rules, or null, got undefined'],
  ['deny', "permissions: expected an object of rules such as { 'orders.*': 'require_approval' }, got"],
  [
    { 'orders.*': 'ask' },
    'permissions: expected "allow", "require_approval", "deny", true, false or an object',
  ],
])('%j are no rules of an owner', async (permissions, problem) => {
  const setting = setOwnerPermissions(NO_STORE, { account: 'acme' }, permissions as never)
  await expect(setting).rejects.toThrow(problem)
})
