import { setImmediate as turnOfEvents } from 'node:timers/promises'

import { HeardPromise } from './heard-promise.js'

/** Promises of code that may forget to await them: none of them ends the process, and none of them is lost. */
export interface WatchedPromises {
  watch<Result>(work: () => Promise<Result>): Promise<Result>
  /** All of them are over, and what `then` made of them. @throws what failed of those that nobody listened to */
  settled(): Promise<void>
}

export function watchPromises(): WatchedPromises {
  const open = new Set<Promise<unknown>>()
  const failed: { readonly promise: HeardPromise<unknown>; readonly reason: unknown }[] = []

  function told(promise: HeardPromise<unknown>): void {
    const over = promise.over((failure) => {
      open.delete(over)
      if (failure !== undefined) failed.push({ promise, ...failure })
    })
    open.add(over)
  }

  return {
    watch: (work) => HeardPromise.of(work(), told),
    async settled() {
      do {
        // What is awaited late may begin more.
        while (open.size > 0) await Promise.all(open)
        // And so may who awaits promises of its own behind one of these.
        await turnOfEvents()
      } while (open.size > 0)
      // Asked at the end: what fails before its turn to be awaited is heard then.
      const unheard = failed.find(({ promise }) => !promise.isHeard)
      if (unheard !== undefined) throw unheard.reason
    },
  }
}
