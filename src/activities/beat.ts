import { Context } from '@temporalio/activity'
import { failure } from '../protocol/failures.js'

/**
 * The worker's options let one beat a second through, so every other of these is free; and work that is done before the
 * first costs none at all (docs/decisions/0020).
 */
const BEAT_INTERVAL = 500

/** Beats after half a second and on while `work` runs: a stop arrives with a beat, and a dead worker is noticed by its absence. */
export async function whileBeating<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current()
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
