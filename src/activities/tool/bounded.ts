/** How a piece of user code ended. */
export type Bounded<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

interface Bounds {
  /** Milliseconds. */
  readonly timeout: number
  /** Aborts when the work is stopped from outside. */
  readonly signal: AbortSignal
  /** Aborted when the work is no longer waited for. */
  readonly abort: AbortController
}

/**
 * Runs user code until it answers, throws, takes too long or is stopped. Code that ignores its abort signal is not
 * waited for.
 */
export function runBounded<T>(
  work: () => T | Promise<T>,
  { timeout, signal, abort }: Bounds,
): Promise<Bounded<T>> {
  return new Promise((resolve) => {
    const end = (ended: Bounded<T>): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      if (ended.kind === 'timed_out' || ended.kind === 'stopped') abort.abort(new Error(ended.kind))
      resolve(ended)
    }
    const stop = (): void => end({ kind: 'stopped' })
    const timer = setTimeout(() => end({ kind: 'timed_out' }), timeout)
    signal.addEventListener('abort', stop)
    if (signal.aborted) return stop()
    Promise.resolve()
      .then(work)
      .then(
        (value) => end({ kind: 'answered', value }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}
