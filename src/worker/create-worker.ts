import { Worker } from '@temporalio/worker'
import type { WorkerOptions, WorkerPlugin } from '@temporalio/worker'

import type { Registry } from '../definitions/registry.js'
import type { RunCaps } from '../protocol/plan.js'
import { shareStore } from '../store/share-store.js'
import type { StoreOptions } from '../store/store-location.js'
import { connectToTemporal, explained } from './connect-to-temporal.js'
import type { TemporalTarget } from './connect-to-temporal.js'
import { threadDataConverter } from './data-converter.js'
import { instanceEnv } from './instance-env.js'
import type { InstanceEnv } from './instance-env.js'
import { listWorkerAgents } from './list-worker-agents.js'
import { runCaps } from './run-caps.js'
import { withoutUndefined } from './without-undefined.js'
import { checkWorkflowBundle } from './workflow-bundle.js'
import { threadWorkerOptions } from './worker-options.js'
import type { ThreadWorker } from './worker-options.js'
import { warnOfRegistry, warnOfRemoteTemporal } from './worker-warnings.js'

/** Every option of Temporal's worker passes through; `workflowsPath`, if given, must export `agentThread` too. */
export interface CreateWorkerOptions extends Partial<WorkerOptions> {
  readonly registry: Registry
  /** Where threads are stored: the same place as the clients' store. */
  readonly store?: StoreOptions
  /** Values of variables for every thread (Standard Agents' instance level): `{ API_KEY: process.env.API_KEY }`. */
  readonly env?: InstanceEnv
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
  const { registry, store: location, env, limits, ...given } = options
  const temporal: Partial<WorkerOptions> = withoutUndefined(given)
  const caps = runCaps(limits)
  const values = instanceEnv(env)
  threadDataConverter(temporal.dataConverter)
  if (temporal.workflowBundle !== undefined) await checkWorkflowBundle(temporal.workflowBundle)
  warnOfRegistry(registry)
  const store = await shareStore(location)
  try {
    await listWorkerAgents(store, registry)
    const target = temporal.connection === undefined ? await connectToTemporal() : null
    if (target !== null) warnOfRemoteTemporal(target.address)
    return await createConnected({ registry, store, caps, env: values }, temporal, target)
  } catch (error) {
    await store.close()
    throw error
  }
}

/** `target`: a connection of our own, which ends with the worker. */
async function createConnected(
  thread: ThreadWorker,
  temporal: Partial<WorkerOptions>,
  target: TemporalTarget | null,
): Promise<Worker> {
  const taskQueue = process.env['EVERTHREAD_TASK_QUEUE'] ?? 'everthread'
  const defaults = { taskQueue, ...(target !== null && pick(target)) }
  const close = async (): Promise<void> => {
    await thread.store.close()
    await target?.connection.close()
  }
  try {
    return await Worker.create({
      ...threadWorkerOptions(thread, { ...defaults, ...temporal }),
      // First is outermost: the store closes when everything else has ended.
      plugins: [closingAfterRun(close), ...(temporal.plugins ?? [])],
    })
  } catch (error) {
    await target?.connection.close()
    throw target === null ? error : explained(error, target)
  }
}

function pick({ connection, namespace }: TemporalTarget): Pick<WorkerOptions, 'connection' | 'namespace'> {
  return { connection, namespace }
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
