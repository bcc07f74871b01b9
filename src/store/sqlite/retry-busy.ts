import { setTimeout as delay } from 'node:timers/promises'

import { isBusy } from './sqlite-error.js'

const FIRST_PAUSE = 5
/** Longer pauses would let a writer that does not pause take the lock again and again. */
const LONGEST_PAUSE = 100

/**
 * Runs `operation` until it does not meet a lock, or until `deadline` (milliseconds of `performance.now`), when the
 * lock's own error is thrown. SQLite's busy timeout would wait too, but with the event loop standing still.
 */
export async function retryBusy<T>(operation: () => T, deadline: number): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return operation()
    } catch (error) {
      if (!isBusy(error) || performance.now() + pause > deadline) throw error
    }
    await delay(pause * (0.5 + Math.random() / 2))
  }
}
