import type { Worker } from '@temporalio/worker'
import type { ActivityDependencies } from '../activities/activity.js'

/** The state of a worker, as far as its activities ask for it. */
interface AheadGate {
  readonly mayRunAhead: NonNullable<ActivityDependencies['mayRunAhead']>
  /** The worker begins to run. */
  watch(worker: Worker): void
}

/** Temporal's default. */
const SLOTS = 100

/** Above this share of its slots a worker gives each back after one step, so that no thread waits for the steps of another. */
const FULL = 0.75

/**
 * No further step begins while the worker shuts down, so that it begins on another worker, nor while it is nearly full. Where the
 * user limits the rate of activities, each call is one: others would pass the limit by.
 */
export function createAheadGate(): AheadGate {
  let running: Worker | null = null
  return {
    mayRunAhead: (next) =>
      running !== null && !isLimited(running) && (next === 'executeTool' || isFree(running)),
    watch: (worker) => {
      running = worker
    },
  }
}

function isLimited({ options }: Worker): boolean {
  return options.maxActivitiesPerSecond !== undefined || options.maxTaskQueueActivitiesPerSecond !== undefined
}

function isFree(worker: Worker): boolean {
  const slots = worker.options.maxConcurrentActivityTaskExecutions ?? SLOTS
  return worker.getState() === 'RUNNING' && worker.getStatus().numInFlightActivities <= slots * FULL
}
