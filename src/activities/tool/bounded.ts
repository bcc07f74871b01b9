import { readThrown } from '../thrown.js'
import type { Thrown } from '../thrown.js'

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

/** As long as a hook may take. */
const PATIENCE = 30_000

/** `thrown`: why there is no answer; null: something outside has stopped the work. */
type Asked<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'silent'; readonly thrown: Thrown | null }

interface Asking {
  readonly abort?: AbortController
  /** Of what the code throws. */
  readonly redact?: (error: unknown) => unknown
}

/** Asks user code about a call, for 30 seconds at most. */
export async function askCode<T>(
  work: () => T | Promise<T>,
  signal: AbortSignal,
  { abort = new AbortController(), redact = (error) => error }: Asking = {},
): Promise<Asked<T>> {
  const ended = await runBounded(work, { timeout: PATIENCE, signal, abort })
  switch (ended.kind) {
    case 'answered':
      return ended
    case 'threw':
      return { kind: 'silent', thrown: readThrown(redact(ended.error)) }
    case 'timed_out':
      return {
        kind: 'silent',
        thrown: readThrown(new Error(`It did not answer within ${PATIENCE / 1000} s.`)),
      }
    case 'stopped':
      return { kind: 'silent', thrown: null }
  }
}
