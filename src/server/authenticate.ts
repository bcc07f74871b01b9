import type { MiddlewareHandler } from 'hono'
import { ConfigError } from '../protocol/errors.js'
import { UNAUTHORIZED } from './error-response.js'
import { ProblemError } from './problem-error.js'
import { bearerToken } from './secret-tokens.js'
import type { Caller, ServerEnv } from './server-context.js'
import { callersByToken } from './tokens.js'
import type { Token } from './tokens.js'

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
    if (caller === null) throw new ProblemError(401, 'unauthorized', UNAUTHORIZED)
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
