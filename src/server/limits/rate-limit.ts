import type { MiddlewareHandler } from 'hono'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ConfigError } from '../../protocol/errors.js'
import { ProblemError, REMAINING } from '../error-response.js'
import type { ServerEnv, ThreadContext } from '../server-context.js'

/**
 * How many requests each token may make. Each process counts by itself, so several processes allow that many each. Tokens of
 * tool workers may make as many for each of their calls.
 */
export interface RateLimit {
  readonly requests: number
  readonly seconds: number
}

/** Names the counter of a request. */
export type RateKey = (context: ThreadContext) => string

const byCaller: RateKey = (context) => context.get('caller').rateKey

/** Refuses requests above the limit with 429 and `Retry-After`. @throws ConfigError */
export function limitRates(rateLimit: RateLimit, keyOf: RateKey = byCaller): MiddlewareHandler<ServerEnv> {
  const { take } = countRates(rateLimit)
  return async (context, next) => {
    await take(keyOf(context))
    await next()
  }
}

export interface RateCounter {
  /** @throws ProblemError 429 with `Retry-After` above the limit */
  readonly take: (key: string) => Promise<void>
  /** Takes a counted request back. */
  readonly giveBack: (key: string) => Promise<void>
}

/** Counts requests by keys. @throws ConfigError */
export function countRates({ requests, seconds }: RateLimit): RateCounter {
  if (!(Number.isInteger(requests) && requests > 0 && seconds > 0))
    throw new ConfigError([
      `Expected "rateLimit" to be whole requests in some seconds, got ${requests} in ${seconds}.`,
    ])
  const limiter = new RateLimiterMemory({ points: requests, duration: seconds })
  return {
    async take(key) {
      try {
        await limiter.consume(key)
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        const wait = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
        throw new ProblemError(
          429,
          'rate_limited',
          `Expected at most ${requests} requests in ${seconds} seconds, got another one: wait ${wait} s.`,
          { 'Retry-After': String(wait), [REMAINING]: '0' },
        )
      }
    },
    async giveBack(key) {
      await limiter.reward(key)
    },
  }
}
