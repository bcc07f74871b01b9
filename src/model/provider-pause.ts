/**
 * The pause that a provider asked for at one of its models, shared by all threads of one worker process: nobody sends a
 * request before it is over, and those who wait for its end go one after the other, in random steps, not all at once.
 * A short rest of it is waited for here, a longer one is refused with the time that it takes. It knows nothing of what
 * other workers were told; each of them learns that from its own first refusal.
 */
import { LIMITS } from '../protocol/limits.js'
import { ModelError } from './model-error.js'

/** The workflow, not the activity, waits for a longer pause of a provider. */
export const LONGEST_PAUSE_IN_ACTIVITY = 10_000

/** At most so many milliseconds between two requests that waited for the end of the same pause. */
const STEP = 100
/** The random part of a pause: a share of it, and no more than this. */
const JITTER_SHARE = 0.25
const LONGEST_JITTER = 30_000

export interface PauseClock {
  /** Milliseconds that only grow; those by which callers that were refused come again. */
  readonly now: () => number
  /** Rejects when the signal aborts. */
  readonly sleep: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number
}

/** Who wants to ask the model. */
export interface PausedCaller {
  readonly signal: AbortSignal
  /** Milliseconds that it waits for at most. */
  readonly patience: number
}

/** A pause, a random part longer: whoever was asked to wait at the same time does not come back at the same time. */
export function withJitter(milliseconds: number, random: () => number = Math.random): number {
  return milliseconds + random() * Math.min(milliseconds * JITTER_SHARE, LONGEST_JITTER)
}

export class ProviderPause {
  readonly #clock: PauseClock
  #end = -Infinity
  /** When the newest of those who wait for the end may go. */
  #lastPlace = -Infinity

  constructor(clock: PauseClock) {
    this.#clock = clock
  }

  /**
   * The provider refused a request and asked for so long a pause. One of its threads asks again within the hour: the pause may
   * be over sooner, or may have been a mistake, such as a date in place of seconds.
   */
  begin(milliseconds: number): void {
    const shared = Math.min(milliseconds, LIMITS.longestProviderWait)
    this.#end = Math.max(this.#end, this.#clock.now() + shared)
  }

  /**
   * Resolves when this caller may ask; at once when there is no pause.
   * @throws ModelError `paused` that says when to come again, if that is too long to be waited for here
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
