import type { Stopwatch } from './stopwatch.js'

export interface BareActivities {
  first(): Promise<void>
  second(): Promise<void>
}

/** Two empty activities; the first marks the beginning of a step, as the model of a thread does. */
export function bareActivities(stopwatch: Pick<Stopwatch, 'mark'>): BareActivities {
  return {
    first: async () => stopwatch.mark(),
    second: async () => {},
  }
}
