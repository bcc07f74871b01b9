import { setMaxListeners } from 'node:events'

export type HookOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

interface HookRun {
  readonly execute: (abortSignal: AbortSignal) => unknown
  /** Milliseconds. */
  readonly timeout: number
  /** Of the activity: the hook hears of it, and may end early. */
  readonly signal: AbortSignal
  /** It is not waited for once the activity is to end: what it is asked for is not needed any more. */
  readonly cut: boolean
}

/** Runs one hook's own code; one that ignores its abort signal is not waited for beyond its time. */
export async function runHook({ execute, timeout, signal, cut }: HookRun): Promise<HookOutcome> {
  const abort = new AbortController()
  const both = AbortSignal.any([signal, abort.signal])
  // Every call that a hook makes may listen.
  setMaxListeners(0, both)
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      abort.abort(new Error('timed_out'))
      end({ kind: 'timed_out' })
    }, timeout)
    const stop = (): void => end({ kind: 'stopped' })
    const end = (outcome: HookOutcome): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve(outcome)
    }
    if (cut) signal.addEventListener('abort', stop)
    if (cut && signal.aborted) return stop()
    Promise.resolve()
      .then(() => execute(both))
      .then(
        (answer) => end({ kind: 'answered', answer }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}
