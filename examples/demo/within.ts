import { setTimeout as pause } from 'node:timers/promises'

/** Adds a deadline to a promise; the error names the awaited event. */
export async function within<T>(seconds: number, what: string, promise: Promise<T>): Promise<T> {
  const signal = deadline(seconds, what)
  return Promise.race([
    promise,
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    }),
  ])
}

export function deadline(seconds: number, what: string): AbortSignal {
  const controller = new AbortController()
  const error = new Error(`expected ${what} within ${seconds} seconds, got none`)
  setTimeout(() => controller.abort(error), seconds * 1000).unref()
  return controller.signal
}

/** Polls until a condition holds. */
export async function until(what: string, seconds: number, holds: () => Promise<boolean>): Promise<void> {
  const signal = deadline(seconds, what)
  while (!(await holds())) {
    signal.throwIfAborted()
    await pause(10)
  }
}
