import { now } from '../desk/journal.js'

/** How long a thread stood still after a kill that cut it off. */
export interface Recovery {
  readonly threadId: string
  readonly killed: string
  /** When it made progress again. */
  readonly at: number
  /** Since the last kill that cut it. */
  readonly milliseconds: number
  /** Since the first one, where it was cut again before it made progress. */
  readonly sinceFirst: number
  readonly cuts: number
}

/**
 * From a kill to the next progress of each thread that had an activity in the killed process: its next event in the store,
 * or its next activity that comes to an end of its own. Cut by a second kill before that, it is measured from that one.
 */
export interface Recoveries {
  /** Call it when the process is gone. */
  cut(killed: string, threadIds: readonly string[], at: number): void
  readonly progressed: (threadId: string) => void
  done(): readonly Recovery[]
  /** Threads that have made none. */
  open(): readonly string[]
}

interface Open {
  readonly killed: string
  readonly at: number
  readonly first: number
  readonly cuts: number
}

/** `clock`: milliseconds of the machine, as journals have them. */
export function createRecoveries(clock: () => number = now): Recoveries {
  const open = new Map<string, Open>()
  const done: Recovery[] = []
  return {
    cut(killed, threadIds, at) {
      for (const threadId of threadIds) {
        const before = open.get(threadId)
        open.set(threadId, { killed, at, first: before?.first ?? at, cuts: (before?.cuts ?? 0) + 1 })
      }
    },
    progressed(threadId) {
      const cut = open.get(threadId)
      if (cut === undefined) return
      open.delete(threadId)
      const at = clock()
      const { killed, cuts } = cut
      done.push({ threadId, killed, at, milliseconds: at - cut.at, sinceFirst: at - cut.first, cuts })
    },
    done: () => done,
    open: () => [...open.keys()],
  }
}

/** The value below which that part of them is; 0 of none. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)] ?? 0
}
