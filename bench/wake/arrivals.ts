import { setTimeout as delay } from 'node:timers/promises'

import { now } from '../clock.js'

/** When the model of this process is asked next, on the clock of the machine. */
export interface Arrivals {
  arrive(): void
  next(): Promise<number>
}

const PATIENCE = 60_000

export function createArrivals(): Arrivals {
  let waiting = (_at: number): void => {}
  return {
    arrive: () => waiting(now()),
    async next() {
      const arrival = new Promise<number>((resolve) => (waiting = resolve))
      const first = await Promise.race([arrival, delay(PATIENCE, null, { ref: false })])
      if (first === null) throw new Error(`Expected a model call within ${PATIENCE} ms.`)
      return first
    },
  }
}
