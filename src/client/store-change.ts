import type { Store } from '../store/store.js'

/** Watches one thread for a reader that reads, then waits until there is more to read. */
export interface ThreadWatch {
  /** Before each read: what is committed from here on ends the next `changed`. */
  reset(): void
  /** Returns when something was committed since `reset`, or when the time or the caller's patience is over. */
  changed(wait?: ChangeWait): Promise<void>
  end(): void
}

export interface ChangeWait {
  /** Milliseconds of Date.now(). */
  readonly until?: number
  readonly signal?: AbortSignal | undefined
}

export function watchThread(store: Store, threadId: string): ThreadWatch {
  let told = false
  let wake = (): void => undefined
  const end = store.watch(threadId, () => {
    told = true
    wake()
  })
  return {
    reset: () => void (told = false),
    async changed({ until, signal } = {}) {
      if (told || signal?.aborted === true) return
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        wake = resolve
        signal?.addEventListener('abort', wake, { once: true })
        if (until !== undefined) timer = setTimeout(wake, Math.max(0, until - Date.now()))
      })
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
    },
    end,
  }
}
