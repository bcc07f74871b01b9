import { createHash, timingSafeEqual } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import { ConfigError } from '../protocol/errors.js'
import { unauthorized } from './error-response.js'
import type { Caller, ServerEnv } from './server-context.js'

/** What a caller sends as `Authorization: Bearer …`, and whose threads it has. */
export interface Token extends TokenOwner {
  /** Without one it is an operator's: the threads of all accounts, and those without. */
  readonly account?: string
}

/** Who has a token; null: nobody. */
type FindCaller = (token: string) => Caller | null

/** @throws ConfigError for tokens that no header can carry, that are short, or that two accounts would share */
function callersByToken(tokens: readonly Token[]): FindCaller {
  const problems = [...tokenProblems('tokens', tokens), ...tokens.flatMap(accountProblems)]
  if (tokens.length === 0) problems.push('Expected "tokens" to hold a token, got none: nobody could call.')
  if (problems.length > 0) throw new ConfigError(problems)
  const ownerOf = ownersByToken(
    tokens.map(({ token, account }) => {
      const rateKey = `token:${tokenDigest(token).toString('hex')}`
      return { token, caller: { account: account ?? null, rateKey } }
    }),
  )
  return (token) => ownerOf(token)?.caller ?? null
}

/** '' would be an account of its own for whoever forgot to set one. */
function accountProblems({ account }: Token, index: number): readonly string[] {
  if (account === undefined || (typeof account === 'string' && account !== '')) return []
  const got = account === '' ? 'an empty one' : typeof account
  return [`Expected "tokens[${index}].account" to be a text, got ${got}: leave it out for an operator.`]
}

/** Who or what has a token of its own. */
export interface TokenOwner {
  /** At least 16 characters of letters, digits and `-._~+/=`. */
  readonly token: string
}

/** What is wrong with the tokens of an option: what no header can carry, what is short, what two would share. */
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

/** Finds the owner of a token; undefined: nobody. It takes as long whatever is given. */
export function ownersByToken<O extends TokenOwner>(owners: readonly O[]): (token: string) => O | undefined {
  const known = owners.map((owner) => ({ owner, digest: tokenDigest(owner.token) }))
  return (token) => {
    const digest = tokenDigest(token)
    // All of them, for the place of a token in the list is nobody's business either.
    const found = known.filter((one) => timingSafeEqual(one.digest, digest))
    return found[0]?.owner
  }
}

/** SHA-256: equally long whatever the token is, which timingSafeEqual asks for. */
export function tokenDigest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** The token of a header `Authorization: Bearer …`. */
export function bearerToken(authorization: string | null | undefined): string | undefined {
  return /^Bearer +([\w.~+/=-]+) *$/i.exec(authorization ?? '')?.[1]
}

/** Who may call: one of the two. */
export interface Authentication {
  readonly tokens?: readonly Token[]
  /**
   * Looks at a request by your own rules; null refuses it. `account: null` is an operator, for whom there are the threads of
   * all accounts.
   */
  readonly authenticate?: (request: Request) => Promise<{ readonly account: string | null } | null>
}

/** Refuses with 401 whoever is nobody, and remembers who calls. @throws ConfigError */
export function authenticateCallers({ tokens, authenticate }: Authentication): MiddlewareHandler<ServerEnv> {
  if ((tokens === undefined) === (authenticate === undefined))
    throw new ConfigError(['Expected one of "tokens" and "authenticate", got both or neither.'])
  const find = authenticate === undefined ? byToken(tokens ?? []) : byRule(authenticate)
  return async (context, next) => {
    const caller = await find(context.req.raw)
    if (caller === null) throw unauthorized()
    context.set('caller', caller)
    await next()
  }
}

type Find = (request: Request) => Promise<Caller | null>

function byToken(tokens: readonly Token[]): Find {
  const callerOf = callersByToken(tokens)
  return async (request) => {
    const token = bearerToken(request.headers.get('authorization'))
    return token === undefined ? null : callerOf(token)
  }
}

function byRule(authenticate: NonNullable<Authentication['authenticate']>): Find {
  return async (request) => {
    const found = await authenticate(request)
    if (found === null) return null
    const { account } = found
    // Fails closed: an account that was forgotten must not become an operator.
    if (account !== null && (typeof account !== 'string' || account === ''))
      throw new Error(
        'Expected "authenticate" to answer null or { account }, a text or null, got something else.',
      )
    return { account, rateKey: account === null ? 'operator' : `account:${account}` }
  }
}
