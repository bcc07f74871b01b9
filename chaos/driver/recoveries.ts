import { now } from '../desk/journal.js'

/** How long a thread stood still after a kill that cut it off. */
export interface Recovery {
  readonly threadId: string
  readonly killed: string
  readonly milliseconds: number
}

/**
 * From a kill to the next progress of each thread that had an activity in the killed process: its next event in the store,
 * or its next activity that comes to an end of its own. What cuts it again before that is in the time.
 */
export interface Recoveries {
  /** Call it when the process is gone. */
  cut(killed: string, threadIds: readonly string[], at: number): void
  readonly progressed: (threadId: string) => void
  done(): readonly Recovery[]
  /** Threads that have made none. */
  open(): readonly string[]
}

export function createRecoveries(): Recoveries {
  const open = new Map<string, { readonly killed: string; readonly at: number }[]>()
  const done: Recovery[] = []
  return {
    cut(killed, threadIds, at) {
      for (const threadId of threadIds) open.set(threadId, [...(open.get(threadId) ?? []), { killed, at }])
    },
    progressed(threadId) {
      for (const { killed, at } of open.get(threadId) ?? [])
        done.push({ threadId, killed, milliseconds: now() - at })
      open.delete(threadId)
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
