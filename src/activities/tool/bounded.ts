/** The end of a piece of user code. */
type Bounded<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

interface Bounds {
  /** Milliseconds. */
  readonly timeout: number
  /** Aborts when something outside stops the work. */
  readonly signal: AbortSignal
  /** Aborted once nothing waits for the work any more. */
  readonly abort: AbortController
}

/**
 * Runs user code until it answers, throws, takes too long or is stopped. It does not wait for code that ignores its
 * abort signal.
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
