/**
 * The limits of accounts at the edge: requests, messages of a session, and sessions at once, over all servers of a store.
 * Owns: what counts as what, and the refusals. Does not own: the counts (`store/limits`), and limits inside runs.
 * Operators are not limited: their programs call for many accounts.
 */
import type { MiddlewareHandler } from 'hono'
import { countAccounts } from '../../client/account-limits.js'
import type { AccountCounts } from '../../client/account-limits.js'
import type { ThreadClient } from '../../client/thread-client.js'
import type { RateLimitName, RateLimits } from '../../policy/rate-limits.js'
import { ProblemError, REMAINING } from '../error-response.js'
import type { ServerContext, ServerEnv } from '../server-context.js'

interface AccountLimits {
  /** Refuses requests above the limit, and says with each answer how many are left. */
  readonly limitRequests: MiddlewareHandler<ServerEnv>
  readonly admitMessage: ServerContext['admitMessage']
}

/** Seconds after which a refused session may have a place: nobody knows when another one comes to rest. */
const SESSION_PAUSE = 10

/** Accounts whose refusals a server remembers. */
const KEPT_REFUSALS = 10_000

const NAMES: Readonly<Record<RateLimitName, string>> = {
  requestsPerMinute: 'requests',
  tokensPerMinute: 'tokens',
  toolCallsPerMinute: 'tool calls',
  messagesPerMinute: 'messages of a session',
}

/** Limits what the callers of each account do. */
export function limitAccounts(client: ThreadClient, limits: RateLimits): AccountLimits {
  const counts = countAccounts(client)
  const take: Take = async (window, limit) => {
    const allowance = await counts.take(window, limit)
    if (allowance.kind === 'exhausted') throw exhaustedError(window.kind, limit, allowance.wait)
    return allowance.left
  }
  const { requestsPerMinute } = limits
  return {
    limitRequests:
      requestsPerMinute === undefined ? (_context, next) => next() : limitRequests(take, requestsPerMinute),
    admitMessage: admitMessages({ counts, take }, limits),
  }
}

type Take = (window: Parameters<AccountCounts['take']>[0], limit: number) => Promise<number>

interface Counting {
  readonly counts: AccountCounts
  readonly take: Take
}

/** Limits the messages of each session, and the sessions of an account that have something to do at once. */
function admitMessages(
  { counts, take }: Counting,
  { messagesPerMinute: messages, concurrentSessions: sessions }: RateLimits,
): ServerContext['admitMessage'] {
  if (messages === undefined && sessions === undefined) return (_caller, _threadId, work) => work()
  return async ({ account }, threadId, work) => {
    if (account === null) return work()
    const session = await counts.sessionOf(account, threadId)
    if (sessions !== undefined && !(await counts.enter(session, sessions)))
      throw tooManySessionsError(sessions)
    try {
      const window = { account, kind: 'messagesPerMinute', session: session.threadId } as const
      if (messages !== undefined) await take(window, messages)
      return await work()
    } finally {
      // A place that is not left here is free a minute later.
      if (sessions !== undefined) await counts.leave(session).catch(() => undefined)
    }
  }
}

/** An account that was refused asks the store again only when it may be allowed: a flood of requests costs no transactions. */
function limitRequests(take: Take, limit: number): MiddlewareHandler<ServerEnv> {
  const kind = 'requestsPerMinute'
  const refused = new Map<string, number>()
  const takeUnlessRefused = async (account: string): Promise<number> => {
    const wait = ((refused.get(account) ?? 0) - performance.now()) / 1000
    if (wait > 0) throw exhaustedError(kind, limit, wait)
    refused.delete(account)
    try {
      return await take({ account, kind }, limit)
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error
      if (refused.size >= KEPT_REFUSALS) refused.clear()
      refused.set(account, performance.now() + error.wait * 1000)
      throw error
    }
  }
  return async (context, next) => {
    const { account } = context.get('caller')
    if (account === null) return next()
    const left = await takeUnlessRefused(account)
    await next()
    if (!context.res.headers.has(REMAINING)) context.res.headers.set(REMAINING, String(left))
  }
}

class RateLimitedError extends ProblemError {
  /** Seconds. */
  readonly wait: number

  constructor(message: string, wait: number) {
    super(429, 'rate_limited', message, { 'Retry-After': String(Math.ceil(wait)), [REMAINING]: '0' })
    this.wait = wait
  }
}

function exhaustedError(kind: RateLimitName, limit: number, wait: number): RateLimitedError {
  const message = `Expected at most ${limit} ${NAMES[kind]} in a minute, got another one: wait ${Math.ceil(wait)} s.`
  return new RateLimitedError(message, wait)
}

function tooManySessionsError(limit: number): RateLimitedError {
  const message = `Expected at most ${limit} sessions at once, got another one: wait until one has come to rest.`
  return new RateLimitedError(message, SESSION_PAUSE)
}
