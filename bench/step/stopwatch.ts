/** Measures a loop from inside: from the beginning of its first step to that of the one after its last. */
export interface Stopwatch {
  /** A step begins. */
  mark(): void
  /** Forgets what was marked. */
  reset(): void
  /** Steps between the first mark and the last. */
  steps(): number
  /** Milliseconds of one step. */
  perStep(): number
}

export function createStopwatch(): Stopwatch {
  let marks: number[] = []
  const steps = (): number => Math.max(0, marks.length - 1)
  return {
    mark: () => void marks.push(performance.now()),
    reset: () => {
      marks = []
    },
    steps,
    perStep: () => ((marks.at(-1) ?? 0) - (marks[0] ?? 0)) / steps(),
  }
}
