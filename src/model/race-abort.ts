/**
 * The promise, or the signal's reason as soon as it aborts: a provider that ignores its abort signal cannot hang
 * its caller. One listener for each wait, for a race against one long promise keeps every chunk of a stream alive.
 */
export function raceAbort<T>(promise: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      reject(signal.reason)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    const settle = (): void => {
      signal.removeEventListener('abort', onAbort)
    }
    promise.then(
      (value) => {
        settle()
        resolve(value)
      },
      (error: unknown) => {
        settle()
        reject(error)
      },
    )
  })
}
