import { Worker } from '@temporalio/worker'
import type { NativeConnection, WorkerOptions, WorkerPlugin } from '@temporalio/worker'

import type { Registry } from '../definitions/registry.js'
import type { RunCaps } from '../protocol/plan.js'
import { shareStore } from '../store/share-store.js'
import type { StoreOptions } from '../store/store-location.js'
import { connectToTemporal } from './connect-to-temporal.js'
import { runCaps } from './run-caps.js'
import { withoutUndefined } from './without-undefined.js'
import { checkWorkflowBundle } from './workflow-bundle.js'
import { threadWorkerOptions } from './worker-options.js'
import { warnOfRegistry, warnOfRemoteTemporal } from './worker-warnings.js'

/** Every option of Temporal's worker passes through; `workflowsPath`, if given, must export `agentThread` too. */
export interface CreateWorkerOptions extends Partial<WorkerOptions> {
  readonly registry: Registry
  /** Where threads are stored: the same place as the clients' store. */
  readonly store?: StoreOptions
  /** Hard caps that hold whatever an agent says. @default 250 steps a run, 100 session turns, 8 equal tool errors */
  readonly limits?: Partial<RunCaps>
}

/**
 * Makes a worker that runs threads: Temporal's own `Worker`, connected by Temporal's environment configuration unless a
 * `connection` is given. Its task queue is EVERTHREAD_TASK_QUEUE, else `everthread`. `run()` returns after SIGTERM: no
 * new work is taken, running calls get the grace time, then the store closes.
 * @throws ConfigError for options that cannot work, StoreError for a place that cannot be used
 */
export async function createWorker(options: CreateWorkerOptions): Promise<Worker> {
  const { registry, store: location, limits, ...given } = options
  const temporal: Partial<WorkerOptions> = withoutUndefined(given)
  const caps = runCaps(limits)
  if (temporal.workflowBundle !== undefined) await checkWorkflowBundle(temporal.workflowBundle)
  warnOfRegistry(registry)
  const store = await shareStore(location)
  let owned: NativeConnection | undefined
  const close = async (): Promise<void> => {
    await store.close()
    await owned?.close()
  }
  try {
    const target = temporal.connection === undefined ? await connectToTemporal() : undefined
    owned = target?.connection
    if (target !== undefined) warnOfRemoteTemporal(target.address)
    const defaults = {
      ...(target !== undefined && { connection: target.connection, namespace: target.namespace }),
      taskQueue: process.env['EVERTHREAD_TASK_QUEUE'] ?? 'everthread',
    }
    return await Worker.create({
      ...threadWorkerOptions({ registry, store, caps }, { ...defaults, ...temporal }),
      // First is outermost: the store closes when everything else has ended.
      plugins: [closingAfterRun(close), ...(temporal.plugins ?? [])],
    })
  } catch (error) {
    await close()
    throw error
  }
}

function closingAfterRun(close: () => Promise<void>): WorkerPlugin {
  return {
    name: 'everthread',
    async runWorker(worker, next) {
      try {
        await next(worker)
      } finally {
        await close()
      }
    },
  }
}
