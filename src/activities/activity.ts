import { WorkflowNotFoundError } from '@temporalio/common'

import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { ModelLimits } from '../model/stream-answer.js'
import { failure } from '../protocol/failures.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Store } from '../store/store.js'
import { Context } from './temporal-activity.js'

/** The parts of a worker that its activities use. */
export interface ActivityDependencies {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  /** Values of variables for every thread of this worker. */
  readonly env?: Readonly<Record<string, string>>
  /** The text that end users read when a run ends without an answer. @default the runtime's own sentences */
  readonly failureText?: FailureText | undefined
  /** @default MODEL_LIMITS */
  readonly modelLimits?: ModelLimits
}

/**
 * The worker throttles heartbeats to one a second, so every second call costs nothing. An activity that ends before
 * the first beat sends none (docs/decisions/0020).
 */
const BEAT_INTERVAL = 500

/**
 * Sends heartbeats while `work` runs, from half a second on: a cancellation arrives with a heartbeat, and without
 * heartbeats Temporal notices a dead worker.
 */
export async function withHeartbeats<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const context = Context.current()
  const timer = setInterval(() => context.heartbeat(), BEAT_INTERVAL)
  try {
    return await work(context.cancellationSignal)
  } finally {
    clearInterval(timer)
  }
}

/**
 * Returns if a user's stop or a termination has aborted the activity's signal.
 * @throws `Worker.Shutdown` if the worker is shutting down or has lost the task: another attempt follows
 */
export function assertStoppedByUser(): void {
  const details = Context.current().cancellationDetails
  if (details !== undefined && !details.cancelRequested) throw failure('Worker.Shutdown')
}

/** Returns Temporal's status of a closed or unknown child; null while it runs. */
export async function findCloseStatus(reference: string): Promise<string | null> {
  try {
    const { status } = await Context.current().client.workflow.getHandle(reference).describe()
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? null : status.name.toLowerCase()
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'not_found'
    throw error
  }
}
