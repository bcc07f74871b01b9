import { processorTime } from '../processor-time.js'

/** What one step took. */
export interface StepTime {
  /** Milliseconds on the clock. */
  readonly clock: number
  /** Milliseconds of this process's processor time, all threads: it moves less when others use the machine. */
  readonly processor: number
}

/** Measures a loop from inside: from the beginning of its first step to that of the one after its last. */
export interface Stopwatch {
  /** A step begins. */
  mark(): void
  /** Forgets what was marked. */
  reset(): void
  /** Steps between the first mark and the last. */
  steps(): number
  perStep(): StepTime
  /** Milliseconds on the clock of each step. */
  each(): readonly number[]
}

export function createStopwatch(): Stopwatch {
  let marks: StepTime[] = []
  const steps = (): number => Math.max(0, marks.length - 1)
  return {
    mark: () => void marks.push({ clock: performance.now(), processor: processorTime() }),
    reset: () => {
      marks = []
    },
    steps,
    each: () => marks.slice(1).map(({ clock }, index) => clock - (marks[index]?.clock ?? clock)),
    perStep() {
      const [first] = marks
      const last = marks.at(-1)
      if (first === undefined || last === undefined || first === last) throw new Error('Expected a step.')
      return {
        clock: (last.clock - first.clock) / steps(),
        processor: (last.processor - first.processor) / steps(),
      }
    },
  }
}
