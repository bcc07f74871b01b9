import { StoreError } from './store-error.js'

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

/** Those who wait for a turn, in order of arrival. */
interface WaitingLine {
  /** Until it is this one's turn, or `deadline` (milliseconds of `performance.now`). @throws StoreError `busy` */
  wait(deadline: number): Promise<void>
  /** Takes the first one out of the line; answers how to let it go on, undefined if nobody waits. */
  next(): (() => void) | undefined
}

/** `problem`: what whoever waited too long is told. */
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
      // At once: whoever has its turn and goes on a little later must not give up meanwhile, for nobody would end that turn.
      clearTimeout(timer)
      waiting.delete(goOn)
      return goOn
    },
  }
}
