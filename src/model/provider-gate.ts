/**
 * The limits of one provider, for one worker process: calls in flight, and requests in any minute. Short waits happen
 * here, in the order of arrival. A longer wait is refused with its duration, and the caller's place in the minute is
 * reserved until then.
 */
import { setTimeout as sleepFor } from 'node:timers/promises'
import { ModelError } from './model-error.js'
import { LONGEST_PAUSE_IN_ACTIVITY } from './provider-pause.js'

/** A provider whose limit is reached is tried again after this: the end of a call in flight cannot be predicted. */
const FULL_PROVIDER_WAIT = 15_000

const MINUTE = 60_000

/** The limits of a provider; an absent field is no limit. */
export interface ProviderLimit {
  /** Calls in flight. */
  readonly concurrency?: number
  readonly requestsPerMinute?: number
}

export interface Visit {
  readonly limit: ProviderLimit
  /** Identifies the caller: a second visit under the same key finds its reserved place. */
  readonly key: string
  readonly signal: AbortSignal
}

interface Clock {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

const CLOCK: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) => sleepFor(milliseconds, undefined, { signal }),
}

export class ProviderGate {
  readonly #clock: Clock
  #running = 0
  #line: (() => void)[] = []
  /** The times at which requests of the last minute were admitted, and of those to come: in order. */
  #times: number[] = []
  readonly #kept = new Map<string, number>()

  constructor(clock: Clock = CLOCK) {
    this.#clock = clock
  }

  /**
   * Runs `work` when the provider has room for it.
   * @throws ModelError `throttled` that says when to come again, if that is longer than LONGEST_PAUSE_IN_ACTIVITY
   */
  async run<T>({ limit, key, signal }: Visit, work: () => Promise<T>): Promise<T> {
    await this.#enter(limit.concurrency ?? Infinity, signal)
    try {
      const wait = this.#place(limit.requestsPerMinute, key) - this.#clock.now()
      if (wait > LONGEST_PAUSE_IN_ACTIVITY) throw throttledError(wait)
      if (wait > 0) await this.#clock.sleep(wait, signal)
      this.#kept.delete(key)
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(concurrency: number, signal: AbortSignal): Promise<void> {
    if (this.#running < concurrency) this.#running += 1
    else if (!(await this.#turn(signal))) throw throttledError(FULL_PROVIDER_WAIT)
  }

  /** Gives the free room to the first call in the line. */
  #leave(): void {
    const next = this.#line.shift()
    if (next === undefined) this.#running -= 1
    else next()
  }

  /** Returns true if a call that ended gave its room to this call in time. */
  async #turn(signal: AbortSignal): Promise<boolean> {
    let given = false
    const waiting = new AbortController()
    const take = (): void => {
      given = true
      waiting.abort()
    }
    this.#line.push(take)
    const either = AbortSignal.any([signal, waiting.signal])
    await this.#clock.sleep(LONGEST_PAUSE_IN_ACTIVITY, either).catch(() => undefined)
    this.#line = this.#line.filter((other) => other !== take)
    // Room that becomes free at the moment of a stop goes to the next call.
    if (given && signal.aborted) this.#leave()
    signal.throwIfAborted()
    return given
  }

  /** The time at which this request may be sent: its reserved time, or the next free time of the minute. */
  #place(perMinute: number | undefined, key: string): number {
    const now = this.#clock.now()
    if (perMinute === undefined) return now
    this.#times = this.#times.filter((time) => time > now - MINUTE)
    for (const [other, time] of this.#kept) if (time <= now - MINUTE) this.#kept.delete(other)
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const time = Math.max(now, (this.#times.at(-perMinute) ?? -Infinity) + MINUTE)
    this.#times.push(time)
    this.#kept.set(key, time)
    return time
  }
}

function throttledError(wait: number): ModelError {
  const message = `The limit of requests to this provider lets none through for ${Math.ceil(wait / 1000)} s.`
  return new ModelError({ kind: 'throttled', message, retryable: true, retryAfter: Math.ceil(wait) })
}
