import { StoreError } from './store-error.js'

export interface Mutex {
  /** Waits in line until `deadline` (milliseconds of `performance.now`). @throws StoreError `busy` */
  acquire(deadline: number): Promise<void>
  release(): void
}

/** Admits one holder at a time, in order of arrival. */
export function createMutex(): Mutex {
  const line = createWaitingLine(WAITED_TOO_LONG)
  let held = false

  return {
    async acquire(deadline) {
      if (held) await line.wait(deadline)
      held = true
    },
    release() {
      const next = line.next()
      // In a later turn of the event loop: a long line of writes would otherwise starve heartbeats and timers.
      if (next === undefined) held = false
      else setImmediate(next)
    },
  }
}

const WAITED_TOO_LONG =
  'Expected a turn to write within 30 s, but earlier writes of this process did not end; ' +
  'a transaction must not wait for another one, for the network or for user code'

/** A queue of waiters, in order of arrival. */
interface WaitingLine {
  /** Resolves when the waiter is next. @throws StoreError `busy` at `deadline` (milliseconds of `performance.now`) */
  wait(deadline: number): Promise<void>
  /** Removes the first waiter and returns the function that resumes it; undefined if there is none. */
  next(): (() => void) | undefined
}

/** `problem`: the message of the error after the deadline. */
export function createWaitingLine(problem: string): WaitingLine {
  const waiting = new Map<() => void, NodeJS.Timeout>()
  return {
    wait: (deadline) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(resolve)
          reject(new StoreError('busy', problem))
        }, deadline - performance.now())
        waiting.set(resolve, timer)
      }),
    next() {
      const [first] = waiting
      if (first === undefined) return undefined
      const [goOn, timer] = first
      // Cleared at once: a waiter that is removed from the queue must not time out before it resumes, or its turn would never end.
      clearTimeout(timer)
      waiting.delete(goOn)
      return goOn
    },
  }
}
