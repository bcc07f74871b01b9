import type { Context as ActivityContext } from '@temporalio/activity'
import { WorkflowNotFoundError } from '@temporalio/common'

import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { PriceList } from '../definitions/prices/defined-prices.js'
import type { ModelLimits } from '../model/stream-answer.js'
import { failure } from '../protocol/failures.js'
import type { Policy } from '../policy/action.js'
import type { ApprovalRule } from '../policy/approval.js'
import type { Budgets } from '../policy/budget.js'
import type { PermissionMode } from '../policy/judge.js'
import type { Permissions } from '../policy/permissions.js'
import type { RateLimits } from '../policy/rate-limits.js'
import type { RollingClock } from '../policy/rolling-window.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Millis } from '../protocol/time.js'
import type { Store } from '../store/store.js'
import { isStopStored } from '../store/threads/stops.js'
import { Context } from './temporal-activity.js'

/** The limits of accounts, of a worker. */
interface RunLimits {
  readonly limits: RateLimits
  /** The store itself: in the transaction of a thread that goes on by itself a count would belong to that thread. */
  readonly store: () => Store
  /** What this process knows of the store's time, for an activity at this time of its workflow. */
  readonly clock: (now: Millis) => RollingClock
}

/** The parts of a worker that its activities use. */
export interface ActivityDependencies {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  /** @default the prices of definitions alone */
  readonly prices?: PriceList | undefined
  /** Values of variables for every thread of this worker. */
  readonly env?: Readonly<Record<string, string>>
  /** The text that end users read when a run ends without an answer. @default the runtime's own sentences */
  readonly failureText?: FailureText | undefined
  /** Rules of the worker, its mode and its policy function (`policy/`). */
  readonly permissions?: Permissions | undefined
  readonly permissionMode?: PermissionMode | undefined
  readonly policy?: Policy | undefined
  /** For all requests for an approval. */
  readonly approval?: ApprovalRule | undefined
  /** Budgets of each run, thread and tree. */
  readonly budgets?: Budgets | undefined
  /** The limits of accounts. @default none */
  readonly rateLimits?: RunLimits | undefined
  /** @default MODEL_LIMITS */
  readonly modelLimits?: ModelLimits
  /** Whether an activity may do this action, too, after the one that it was scheduled for. @default always */
  readonly mayRunAhead?: (next: 'callModel' | 'executeTool') => boolean
}

/** Each heartbeat that reaches the server is billed, so an activity that ends within a third of its timeout sends none. */
const BEATS_PER_TIMEOUT = 3

/** Activities in flight that send heartbeats, with what each heartbeat says: registered names and numbers only (T5). */
const beats = new WeakMap<ActivityContext, { details: object | null }>()

/**
 * Sends heartbeats while `work` runs: without them Temporal notices a dead worker. The SDK lets the first through, and then one
 * in 80 % of the timeout. Within an activity that does several actions the first call serves all of them.
 */
export async function withHeartbeats<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current()
  const { heartbeatTimeoutMs: timeout } = context.info
  if (timeout === undefined || beats.has(context)) return work()
  beats.set(context, { details: null })
  const timer = setInterval(() => beat(context), timeout / BEATS_PER_TIMEOUT)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    beats.delete(context)
  }
}

function beat(context: ActivityContext): void {
  const details = beats.get(context)?.details ?? null
  if (details === null) context.heartbeat()
  else context.heartbeat(details)
}

/** What the heartbeats of this activity say from now on; the Temporal UI shows it. */
export function setHeartbeatDetails(details: object): void {
  const known = beats.get(Context.current())
  if (known !== undefined) known.details = details
}

/** The signals of the activities in flight that a stop or a termination interrupts. */
const signals = new WeakMap<ActivityContext, AbortSignal>()

/** The signal of the activity in which this is called: it aborts with a stop, a termination and a shutdown of the worker. */
export function currentSignal(): AbortSignal {
  const context = Context.current()
  return signals.get(context) ?? context.cancellationSignal
}

interface Interruptible {
  readonly threadId: string
  /** Null: a stop of a run does not interrupt it, only a termination does. */
  readonly run: number | null
}

/**
 * Runs work that a stop interrupts. It hears of it from the store, in milliseconds, and from Temporal with the answer of a
 * heartbeat. A heartbeat follows, so that code with Temporal's own signal hears of it too. Within an activity that does several
 * actions the first call serves all of them.
 */
export function withStops<T>(
  store: Store,
  { threadId, run }: Interruptible,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const known = signals.get(Context.current())
  if (known !== undefined) return work(known)
  return withHeartbeats(async () => {
    const context = Context.current()
    const stop = new AbortController()
    const signal = AbortSignal.any([context.cancellationSignal, stop.signal])
    const look = async (): Promise<void> => {
      if (signal.aborted) return
      const stopped = await store.read((db) => isStopStored(db, { threadId, run }))
      // Another look, which began at the same time, may have found it.
      if (!stopped || stop.signal.aborted) return
      stop.abort()
      beat(context)
    }
    signals.set(context, signal)
    // A store that cannot be read now calls again, and Temporal's cancellation comes too.
    const endWatch = store.watchStops(threadId, () => void look().catch(() => undefined))
    try {
      return await work(signal)
    } finally {
      endWatch()
      signals.delete(context)
    }
  })
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
