/** How long each step may take on a busy machine, in milliseconds: several times what it takes there. */
export const STEP_LIMITS = {
  // Two PostgreSQL and a Temporal server, which wait for each other.
  'start the servers': 300_000,
  'bundle the workflow': 180_000,
  // Its compiler and two bundlers.
  'build the old package': 300_000,
  'start the processes': 60_000,
  // A killed server is waited for before it is killed again, and its starts are tried ten times.
  disturb: 300_000,
  // Beyond the patience of its own, which names what is stuck.
  'come to rest': 180_000,
  'wait until doctor passes over nothing': 90_000,
  // Reads each history, of some hundred threads.
  check: 900_000,
  'end the processes': 120_000,
  'end the servers': 120_000,
} as const satisfies Readonly<Record<string, number>>

export type Step = keyof typeof STEP_LIMITS

export interface Beginning {
  /** Which one of its kind. */
  readonly detail?: string
  /** Milliseconds beyond those of the step. */
  readonly more?: number
}

/** Knows what a run is at, so that one that hangs ends, and says where. */
export interface Watchdog {
  /** The one before has come to its end. */
  begin(step: Step, beginning?: Beginning): void
  /** What the run is at, or where it failed; null when it is over. */
  step(): string | null
  /** The step has failed: those that still come only tidy up. */
  fail(): void
  /** The run is over. */
  end(): void
}

/** Calls `bark` with a sentence when a step takes longer than it may; nothing but a new one ends the waiting. */
export function createWatchdog(bark: (problem: string) => void): Watchdog {
  let timer: NodeJS.Timeout | undefined
  let current: string | null = null
  let failed: string | null = null
  return {
    begin(step, { detail, more = 0 } = {}) {
      clearTimeout(timer)
      const name = detail === undefined ? step : `${step} (${detail})`
      const limit = STEP_LIMITS[step] + more
      current = name
      timer = setTimeout(() => bark(`hung in the step "${name}" for ${limit / 1000} s`), limit)
    },
    step: () => failed ?? current,
    fail() {
      failed ??= current
    },
    end() {
      clearTimeout(timer)
      current = null
      failed = null
    },
  }
}
