/** What each worker process is at, as it says itself; a message that a kill cut off is missing, and nothing else. */
export interface ActivitiesInFlight {
  begun(pid: number, threadId: string): void
  /** `ok`: it came to an end of its own. */
  ended(pid: number, threadId: string, ok: boolean): void
  /** Threads with an activity in that process; none afterwards. */
  cutOff(pid: number): readonly string[]
  /** Threads with an activity in any process. */
  all(): readonly string[]
}

export function activitiesInFlight(onEnd: (threadId: string) => void): ActivitiesInFlight {
  const byProcess = new Map<number, Map<string, number>>()
  const count = (pid: number, threadId: string, more: number): void => {
    const threads = byProcess.get(pid) ?? new Map<string, number>()
    byProcess.set(pid, threads)
    const left = (threads.get(threadId) ?? 0) + more
    if (left > 0) threads.set(threadId, left)
    else threads.delete(threadId)
  }
  return {
    begun: (pid, threadId) => count(pid, threadId, 1),
    ended(pid, threadId, ok) {
      count(pid, threadId, -1)
      if (ok) onEnd(threadId)
    },
    cutOff(pid) {
      const threads = [...(byProcess.get(pid)?.keys() ?? [])]
      byProcess.delete(pid)
      return threads
    },
    all: () => [...new Set([...byProcess.values()].flatMap((threads) => [...threads.keys()]))],
  }
}
