import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { ModelLimits } from '../model/stream-answer.js'
import { failure } from '../protocol/failures.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Store } from '../store/store.js'
import { Context } from './temporal-activity.js'

/** What a worker gives to its activities. */
export interface ActivityDependencies {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  /** Values of variables for every thread of this worker. */
  readonly env?: Readonly<Record<string, string>>
  /** What end users read where a run ends without an answer. @default the runtime's own sentences */
  readonly failureText?: FailureText | undefined
  /** @default MODEL_LIMITS */
  readonly modelLimits?: ModelLimits
}

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
