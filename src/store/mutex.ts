import { createWaitingLine } from './waiting-line.js'

export interface Mutex {
  /** Waits in line until `deadline` (milliseconds of `performance.now`). @throws StoreError `busy` */
  acquire(deadline: number): Promise<void>
  release(): void
}

/** Lets one in at a time, in order of arrival. */
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
      // Not at once: a long line of writes would otherwise run without heartbeats and timers in between.
      if (next === undefined) held = false
      else setImmediate(next)
    },
  }
}

const WAITED_TOO_LONG =
  'Expected a turn to write within 30 s, but earlier writes of this process did not end; ' +
  'a transaction must not wait for another one, for the network or for user code'
