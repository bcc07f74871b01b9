import { createHash, timingSafeEqual } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { rolesProblem } from '../../policy/approval.js'
import type { Caller as PolicyCaller } from '../../policy/approval.js'
import { ConfigError } from '../../protocol/errors.js'
import { withoutUndefined } from '../../protocol/values.js'
import { ProblemError, unauthorizedError } from '../error-response.js'
import type { Caller, ServerEnv } from '../server-context.js'
import { createThreadTokenFinder } from './thread-tokens.js'
import type { ThreadTokenOptions } from './thread-tokens.js'

/** A token that callers send as `Authorization: Bearer …`, and the account whose threads it may see. */
export interface Token extends TokenOwner {
  /** Without an account it is an operator's token, for the threads of all accounts and those without one. */
  readonly account?: string
  /** The person that has it: answers to approvals are theirs. */
  readonly user?: string
  /** The roles of that person, which approvals may ask for. */
  readonly roles?: readonly string[]
}

/** Finds the caller with a token; null for an unknown token. */
type FindCaller = (token: string) => Caller | null

/** @throws ConfigError for tokens that no header can carry, that are short, or that two accounts would share */
function createCallerFinder(tokens: readonly Token[]): FindCaller {
  const problems = [
    ...tokenProblems('tokens', tokens),
    ...tokens.flatMap(accountProblems),
    ...tokens.flatMap((token, index) => personProblem(token, `tokens[${index}]`) ?? []),
  ]
  if (tokens.length === 0) problems.push('Expected "tokens" to hold a token, got none: nobody could call.')
  if (problems.length > 0) throw new ConfigError(problems)
  const ownerOf = createOwnerFinder(
    tokens.map(({ token, account, user, roles }) => {
      const rateKey = `token:${tokenDigest(token).toString('hex')}`
      return { token, caller: { account: account ?? null, rateKey, ...withoutUndefined({ user, roles }) } }
    }),
  )
  return (token) => ownerOf(token)?.caller ?? null
}

/** Refuses '', which all who forget to set their account would share. */
function accountProblems({ account }: Token, index: number): readonly string[] {
  if (account === undefined || (typeof account === 'string' && account !== '')) return []
  const got = account === '' ? 'an empty one' : typeof account
  return [`Expected "tokens[${index}].account" to be a text, got ${got}: leave it out for an operator.`]
}

/** Returns what is wrong with a person; `owner` names whose it is. */
function personProblem({ user, roles }: Pick<Token, 'user' | 'roles'>, owner: string): string | undefined {
  if (user !== undefined && (typeof user !== 'string' || user === ''))
    return `Expected "${owner}.user" to be a text that is not empty, got ${user === '' ? 'an empty one' : typeof user}.`
  const problem = roles === undefined ? undefined : rolesProblem(roles)
  return problem === undefined ? undefined : `${owner}: ${problem}.`
}

/** The owner of a token. */
export interface TokenOwner {
  /** At least 16 characters of letters, digits and `-._~+/=`. */
  readonly token: string
}

/** Lists the problems of an option's tokens: characters that no header can carry, short tokens, and one that is given twice. */
export function tokenProblems(option: string, owners: readonly TokenOwner[]): readonly string[] {
  const bad = owners.flatMap(({ token }, index) =>
    typeof token === 'string' && /^[\w.~+/-]{16,}=*$/.test(token)
      ? []
      : [
          `Expected "${option}[${index}].token" to be 16 characters or more of letters, digits and -._~+/=, ` +
            `got ${String(token).length} characters.`,
        ],
  )
  const isUnique = new Set(owners.map(({ token }) => token)).size === owners.length
  return isUnique
    ? bad
    : [...bad, `Expected the tokens of "${option}" to differ from each other, got one twice.`]
}

/** Finds the owner of a token, or undefined, in a time that does not depend on the token. */
export function createOwnerFinder<O extends TokenOwner>(
  owners: readonly O[],
): (token: string) => O | undefined {
  const known = owners.map((owner) => ({ owner, digest: tokenDigest(owner.token) }))
  return (token) => {
    const digest = tokenDigest(token)
    // Compares with every token, because the time must not show a place in the list either.
    const found = known.filter((one) => timingSafeEqual(one.digest, digest))
    return found[0]?.owner
  }
}

/** SHA-256, because timingSafeEqual needs values of equal length. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Reads the token of a header `Authorization: Bearer …`. */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  return /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1]
}

/** Decides which callers are known: exactly one of the two is set. */
export interface Authentication {
  readonly tokens?: readonly Token[]
  /**
   * Checks a request by your own rules, also by a cookie; null refuses it. `account: null` makes the caller an operator, who may see the threads
   * of all accounts. `user` and `roles` say who answers approvals.
   */
  readonly authenticate?: (request: Request) => Promise<PolicyCaller | null>
  /**
   * Lets `POST /threads/{threadId}/tokens` sign short-lived tokens of one thread, for browsers.
   * @default none, and no such route
   */
  readonly threadTokens?: ThreadTokenOptions
}

/**
 * Refuses unknown callers with 401, and commands that a page of another site sends with a cookie with 403; keeps known callers with
 * their request. `origins` are those of pages that may call. @throws ConfigError
 */
export function authenticateCallers({
  tokens,
  authenticate,
  threadTokens,
  origins = [],
}: Authentication & { readonly origins?: readonly string[] }): MiddlewareHandler<ServerEnv> {
  if ((tokens === undefined) === (authenticate === undefined))
    throw new ConfigError(['Expected one of "tokens" and "authenticate", got both or neither.'])
  const plain = authenticate === undefined ? findByToken(tokens ?? []) : findByRule(authenticate)
  const find = threadTokens === undefined ? plain : findByThreadToken(threadTokens, plain)
  return async (context, next) => {
    const caller = await find(context.req.raw)
    if (caller === null) throw unauthorizedError()
    refuseOtherSites(context.req.raw, origins)
    context.set('caller', caller)
    await next()
  }
}

/**
 * A browser sends cookies with whatever a page of another site posts, and needs no leave for a command without a body. Such a page can
 * send no `Authorization`, and programs no `Sec-Fetch-Site`.
 */
function refuseOtherSites({ method, headers }: Request, origins: readonly string[]): void {
  const site = headers.get('sec-fetch-site') ?? 'none'
  if (['GET', 'HEAD', 'OPTIONS'].includes(method) || ['none', 'same-origin'].includes(site)) return
  if (headers.has('authorization') || origins.includes(headers.get('origin') ?? '')) return
  throw new ProblemError(
    403,
    'forbidden',
    'Expected a command of a page of this origin, or of one that "origins" of this server names, got one of another page.',
  )
}

type Find = (request: Request) => Promise<Caller | null>

function findByToken(tokens: readonly Token[]): Find {
  const callerOf = createCallerFinder(tokens)
  return async (request) => {
    const token = bearerToken(request.headers.get('authorization'))
    return token === undefined ? null : callerOf(token)
  }
}

function findByThreadToken(options: ThreadTokenOptions, others: Find): Find {
  const find = createThreadTokenFinder(options)
  return async (request) => {
    const header = bearerToken(request.headers.get('authorization'))
    return (await find(request, header)) ?? others(request)
  }
}

function findByRule(authenticate: NonNullable<Authentication['authenticate']>): Find {
  return async (request) => {
    const found = await authenticate(request)
    if (found === null) return null
    const { account } = found
    // Fails closed: a forgotten account must not make the caller an operator.
    if (account !== null && (typeof account !== 'string' || account === ''))
      throw new Error(
        'Expected "authenticate" to answer null or { account }, a text or null, got something else.',
      )
    const { user, roles } = found
    const problem = personProblem({ ...withoutUndefined({ user, roles }) }, 'authenticate')
    if (problem !== undefined) throw new Error(problem)
    const rateKey = account === null ? 'operator' : `account:${account}`
    return { account, rateKey, ...withoutUndefined({ user, roles }) }
  }
}
