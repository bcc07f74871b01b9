/** How much an account may use in a minute, and at once. */
import { ConfigError } from '../protocol/errors.js'
import { isObject } from '../protocol/values.js'

/**
 * The limits of each account over all processes. Those that are left out do not hold. Threads without an account are one account
 * together. A use counts for 60 to 61 seconds, so that no rolling minute has more than a limit.
 */
export interface RateLimits {
  /** HTTP requests, which a server counts. */
  readonly requestsPerMinute?: number
  /** Tokens of models, input and output, which workers count behind each answer. */
  readonly tokensPerMinute?: number
  /** Calls of functions by models, which workers count before each call. */
  readonly toolCallsPerMinute?: number
  /** Sessions with a run under way or a message that waits; a session is a thread with all of its subagents. A server counts them. */
  readonly concurrentSessions?: number
  /** Messages of each session, which a server counts. */
  readonly messagesPerMinute?: number
}

/** Limits that fit the users of a service: `rateLimits: DEFAULT_RATE_LIMITS` switches them on. */
export const DEFAULT_RATE_LIMITS = {
  requestsPerMinute: 100,
  tokensPerMinute: 100_000,
  toolCallsPerMinute: 200,
  concurrentSessions: 50,
  messagesPerMinute: 30,
} as const satisfies Required<RateLimits>

/** A limit that holds for a rolling minute. */
export type RateLimitName = Exclude<keyof RateLimits, 'concurrentSessions'>

/** Above it a limit is a mistake: a million sessions, or a thousand million tokens. */
const MOST: Readonly<Record<keyof RateLimits, number>> = {
  requestsPerMinute: 1_000_000,
  tokensPerMinute: 1_000_000_000,
  toolCallsPerMinute: 1_000_000,
  concurrentSessions: 1_000_000,
  messagesPerMinute: 1_000_000,
}

/** @throws ConfigError with one sentence */
export function checkRateLimits(limits: unknown): void {
  const problem = limits === undefined ? undefined : rateLimitsProblem(limits)
  if (problem !== undefined) throw new ConfigError([problem])
}

function rateLimitsProblem(limits: unknown): string | undefined {
  if (!isObject(limits))
    return `Expected "rateLimits" to be limits, got ${limits === null ? 'null' : typeof limits}.`
  for (const [name, value] of Object.entries(limits)) {
    if (!Object.hasOwn(MOST, name))
      return `Expected "rateLimits" to have ${Object.keys(MOST).join(', ')}, got "${name}".`
    const most = MOST[name as keyof RateLimits]
    if (value === undefined || (Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= most))
      continue
    const got = typeof value === 'number' ? value : JSON.stringify(value)
    return `Expected "rateLimits.${name}" to be a whole number from 1 to ${most}, got ${got}.`
  }
  return undefined
}
