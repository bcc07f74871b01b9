import { Context } from '@temporalio/activity'
import { failure } from '../protocol/failures.js'

/** Heartbeats are throttled to one a second by the worker's options: more often would change nothing. */
const BEAT_INTERVAL = 1000

/** Beats on entry and each second while `work` runs: a stop arrives with a beat, and a dead worker is noticed by its absence. */
export async function whileBeating<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current()
  context.heartbeat()
  const timer = setInterval(() => context.heartbeat(), BEAT_INTERVAL)
  try {
    return await work(context.cancellationSignal)
  } finally {
    clearInterval(timer)
  }
}

/**
 * Called when the activity's signal has aborted: returns if a user's stop or terminate did it.
 * @throws `Worker.Shutdown` if the worker is shutting down or has lost the task: not a stop, another attempt follows
 */
export function assertStoppedByUser(): void {
  const details = Context.current().cancellationDetails
  if (details !== undefined && !details.cancelRequested) throw failure('Worker.Shutdown')
}
