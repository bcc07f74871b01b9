import type { Client } from '@temporalio/client'

/** Which of those threads have an activity that Temporal gave to a process of ours, which may be gone. */
export type TakenBy = (pid: number, threadIds: readonly string[]) => Promise<readonly string[]>

/** One that is away, as when it was killed too, says nothing. */
const PATIENCE = 2_000

/** Of `PendingActivityState`. */
const STARTED = 2

/** A worker that is killed as it gets a task says nothing of it: only Temporal knows whom that kill hit. */
export function askWhoTook(client: Client): TakenBy {
  const hasTaken = async (pid: number, threadId: string): Promise<boolean> => {
    try {
      const { raw } = await client.connection.withDeadline(Date.now() + PATIENCE, () =>
        client.workflow.getHandle(threadId).describe(),
      )
      return (raw.pendingActivities ?? []).some(
        ({ state, lastWorkerIdentity }) =>
          state === STARTED && lastWorkerIdentity?.startsWith(`${pid}@`) === true,
      )
    } catch {
      return false
    }
  }
  return async (pid, threadIds) => {
    const taken = await Promise.all(threadIds.map((threadId) => hasTaken(pid, threadId)))
    return threadIds.filter((_, index) => taken[index] === true)
  }
}
