/**
 * The pause that a provider asked for at one of its models, shared by all threads of one worker process. No thread sends
 * a request before the pause is over, and the waiting threads then continue one after the other, in random steps, not all
 * at once. A short remainder is waited for here; a longer one is refused with its duration. Workers do not share pauses:
 * each worker gets the pause with its own first refusal.
 */
import { LIMITS } from '../protocol/limits.js'
import { ModelError } from './model-error.js'

/** The workflow, not the activity, waits for a longer pause of a provider. */
export const LONGEST_PAUSE_IN_ACTIVITY = 10_000

/** At most so many milliseconds between two requests that waited for the end of the same pause. */
const STEP = 100
/** The random part of a pause is at most this share of it, and at most `LONGEST_JITTER`. */
const JITTER_SHARE = 0.25
const LONGEST_JITTER = 30_000

export interface PauseClock {
  /** Milliseconds of a monotonic clock, by which refused callers also return. */
  readonly now: () => number
  /** Rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number
}

/** A caller that wants to send a request. */
export interface PausedCaller {
  readonly signal: AbortSignal
  /** The most milliseconds that it waits. */
  readonly patience: number
}

/** A pause with a random extension, so that callers that were refused together do not return together. */
export function withJitter(milliseconds: number, random: () => number = Math.random): number {
  return milliseconds + random() * Math.min(milliseconds * JITTER_SHARE, LONGEST_JITTER)
}

export class ProviderPause {
  readonly #clock: PauseClock
  #end = -Infinity
  /** The time at which the newest waiting caller may send. */
  #lastPlace = -Infinity

  constructor(clock: PauseClock) {
    this.#clock = clock
  }

  /**
   * Begins the pause that a provider asked for, up to `LIMITS.longestProviderWait`: the pause may be over sooner, or may
   * have been a mistake, such as a date in place of seconds, so a thread has to try again.
   */
  begin(milliseconds: number): void {
    const shared = Math.min(milliseconds, LIMITS.longestProviderWait)
    this.#end = Math.max(this.#end, this.#clock.now() + shared)
  }

  /**
   * Resolves when this caller may send a request; at once without a pause.
   * @throws ModelError `paused` with the time until a retry, if that is too long to wait for here
   */
  async pass({ signal, patience }: PausedCaller): Promise<void> {
    for (;;) {
      const now = this.#clock.now()
      if (now >= this.#end) return
      this.#lastPlace = Math.max(this.#end, this.#lastPlace) + this.#clock.random() * STEP
      const wait = this.#lastPlace - now
      if (wait > Math.min(LONGEST_PAUSE_IN_ACTIVITY, patience)) throw pausedError(wait)
      await this.#clock.sleep(wait, signal)
    }
  }
}

function pausedError(wait: number): ModelError {
  const message = `The provider asked for a pause, which lasts another ${Math.ceil(wait / 1000)} s: no request was sent.`
  return new ModelError({ kind: 'paused', message, retryable: true, retryAfter: Math.ceil(wait) })
}
