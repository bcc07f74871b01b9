import { StoreError } from './store-error.js'

export interface Mutex {
  /** Waits in line until `deadline` (milliseconds of `performance.now`). @throws StoreError `busy` */
  acquire(deadline: number): Promise<void>
  release(): void
}

interface Waiter {
  readonly enter: () => void
}

/** Lets one in at a time, in order of arrival. */
export function createMutex(): Mutex {
  const waiting = new Set<Waiter>()
  let held = false

  return {
    async acquire(deadline) {
      if (!held) {
        held = true
        return
      }
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(waiter)
          reject(new StoreError('busy', WAITED_TOO_LONG))
        }, deadline - performance.now())
        const waiter: Waiter = {
          enter: () => {
            clearTimeout(timer)
            resolve()
          },
        }
        waiting.add(waiter)
      })
    },
    release() {
      const [next] = waiting
      if (next === undefined) {
        held = false
        return
      }
      waiting.delete(next)
      // Not at once: a long line of writes would otherwise run without heartbeats and timers in between.
      setImmediate(next.enter)
    },
  }
}

const WAITED_TOO_LONG =
  'Expected a turn to write within 30 s, but earlier writes of this process did not end; ' +
  'a transaction must not wait for another one, for the network or for user code'
