import { StoreError } from './store-error.js'

/** Those who wait for a turn, in order of arrival. */
export interface WaitingLine {
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
