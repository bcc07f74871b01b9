/**
 * Who may answer a request for an approval, until when, and what an answer may be.
 * Owns: the rule of an approval, how the rules of several sources combine, and the check of the person who answers.
 * Does not own: whether a person is asked at all (`judge.ts`), and the request itself (`activities/tool/approval-request.ts`).
 * Invariant: another source can only make the rule stricter.
 */

/** The rule for the requests of a tool, or of all tools of a worker. A field that is left out demands nothing. */
export interface ApprovalRule {
  /** Who answers needs one of these roles, as the token or `authenticate` of the server, or `caller` of a client, names them. */
  readonly roles?: readonly string[]
  /** True: the user for whom the thread works cannot answer, and who answers has to be a known user. @default false */
  readonly fourEyes?: boolean
  /** Milliseconds until a request that nobody has answered is denied; at most a year. @default it waits for ever */
  readonly expiresIn?: number
}

/** Who answers, as a server has authenticated them. */
export interface Caller {
  /** Null: an operator. */
  readonly account: string | null
  readonly user?: string
  readonly roles?: readonly string[]
}

/** The rules of all sources of a request. */
export interface CombinedApproval {
  /** Who answers needs one role of each list. */
  readonly roles?: readonly (readonly string[])[]
  readonly fourEyes?: true
  /** Milliseconds. */
  readonly expiresIn?: number
}

const LONGEST_EXPIRY = 366 * 24 * 3_600_000
const MOST_ROLES = 100

/** Returns what is wrong with the rule of an approval; undefined is none. */
export function approvalRuleProblem(rule: unknown): string | undefined {
  if (rule === undefined) return undefined
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule))
    return 'expected { roles, fourEyes, expiresIn }, got something else'
  const unknown = Object.keys(rule).find((name) => !['roles', 'fourEyes', 'expiresIn'].includes(name))
  if (unknown !== undefined) return `expected roles, fourEyes and expiresIn only, got "${unknown}"`
  const { roles, fourEyes, expiresIn } = rule as Readonly<Record<string, unknown>>
  const wrongRoles = roles === undefined ? undefined : rolesProblem(roles)
  if (wrongRoles !== undefined) return wrongRoles
  if (fourEyes !== undefined && typeof fourEyes !== 'boolean') return 'expected fourEyes to be true or false'
  if (expiresIn === undefined || isExpiry(expiresIn)) return undefined
  return `expected expiresIn to be whole milliseconds from 1 to ${LONGEST_EXPIRY}, got ${typeof expiresIn === 'number' ? expiresIn : typeof expiresIn}`
}

/** Whether a value is a time until which something holds: whole milliseconds, at most a year. */
export function isExpiry(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LONGEST_EXPIRY
}

/** Returns what is wrong with a list of roles. An empty one would let nobody answer. */
export function rolesProblem(roles: unknown): string | undefined {
  const isList = Array.isArray(roles) && roles.length > 0 && roles.length <= MOST_ROLES
  if (isList && roles.every((role) => typeof role === 'string' && role.trim() !== '')) return undefined
  return `expected roles to be a list of 1 to ${MOST_ROLES} names`
}

/** The strictest of all rules: a role of each, four eyes if one wants them, and the earliest end. */
export function combineApprovalRules(rules: readonly (ApprovalRule | undefined)[]): CombinedApproval {
  const set = rules.filter((rule) => rule !== undefined)
  const roles = set.flatMap((rule) => (rule.roles === undefined ? [] : [rule.roles]))
  const times = set.flatMap(({ expiresIn }) => expiresIn ?? [])
  return {
    ...(roles.length > 0 && { roles }),
    ...(set.some(({ fourEyes }) => fourEyes === true) && { fourEyes: true }),
    ...(times.length > 0 && { expiresIn: Math.min(...times) }),
  }
}

/** Whether not everybody who reaches the thread may answer. */
export function isRestricted({ roles, fourEyes }: CombinedApproval): boolean {
  return roles !== undefined || fourEyes === true
}

/** Whether the rule of now asks for somebody whom the rule that was answered did not ask for. */
export function demandsMore(now: CombinedApproval, answered: CombinedApproval): boolean {
  const known = (answered.roles ?? []).map((list) => JSON.stringify(list))
  const isNew = (list: readonly string[]): boolean => !known.includes(JSON.stringify(list))
  return (now.roles ?? []).some(isNew) || (now.fourEyes === true && answered.fourEyes !== true)
}

/** Why this caller may not answer; undefined: they may. `requester` is the user for whom the thread works; null: it has none. */
export function answererProblem(
  { roles = [], fourEyes }: CombinedApproval,
  caller: Caller | undefined,
  requester: string | null,
): string | undefined {
  const { user, roles: own = [] } = caller ?? {}
  const missing = roles.find((list) => !list.some((role) => own.includes(role)))
  if (missing !== undefined) return `somebody with one of the roles ${missing.join(', ')}`
  if (fourEyes !== true) return undefined
  if (user === undefined) return 'a known user, because two persons have to agree'
  if (requester === null) return 'somebody else than the user of the thread, and the thread has none'
  return user === requester ? 'another user than the one for whom the thread works' : undefined
}
