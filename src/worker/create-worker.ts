import type { BundlerPlugin, WorkerOptions, WorkerPlugin } from '@temporalio/worker'
import { checkFailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import type { RunCaps } from '../protocol/plan.js'
import { shareStore } from '../store/open-store.js'
import { storeLocation, taskQueueOf } from '../store/store-location.js'
import { connectToTemporal, explained } from './connect-to-temporal.js'
import type { TemporalTarget } from './connect-to-temporal.js'
import { installLogging } from './logging.js'
import { Worker } from './temporal-worker.js'
import { withoutUndefined } from '../protocol/values.js'
import { listWorkerAgents } from './worker-agents.js'
import { instanceEnv, threadDeployment, threadWorkerOptions } from './worker-options.js'
import type { ThreadDeploymentOptions, ThreadOptions, ThreadWorker } from './worker-options.js'
import { warnOfMissingKey, warnOfRegistry, warnOfRemoteTemporal } from './worker-warnings.js'
import { bundleThreads, checkWorkflowBundle } from './workflow-bundle.js'

/** Every option of Temporal's worker passes through; the workflows of a `workflowsPath` run beside threads. */
export interface CreateWorkerOptions
  extends Partial<Omit<WorkerOptions, 'workerDeploymentOptions'>>, ThreadOptions {
  readonly workerDeploymentOptions?: ThreadDeploymentOptions
}

/**
 * Makes a worker that runs threads: Temporal's own `Worker`, connected by Temporal's environment configuration unless a
 * `connection` is given. Its task queue is EVERTHREAD_TASK_QUEUE, else `everthread-` with the id of its store, which clients
 * of that store derive too. `run()` returns after SIGTERM: no new work is taken, running calls get the grace time, then the
 * store closes.
 * @throws ConfigError for options that cannot work, StoreError for a place that cannot be used
 */
export async function createWorker(options: CreateWorkerOptions): Promise<Worker> {
  const {
    registry,
    store: location,
    env,
    limits,
    failureText,
    workflows = true,
    workerDeploymentOptions: deployment,
    ...given
  } = options
  checkRegistry(registry)
  checkFailureText(failureText)
  const temporal: Partial<WorkerOptions> = {
    ...withoutUndefined(given),
    ...(deployment !== undefined && { workerDeploymentOptions: threadDeployment(deployment) }),
  }
  if (!workflows) assertNoWorkflows(temporal)
  installLogging()
  const caps = runCaps(limits)
  const values = instanceEnv(env)
  if (temporal.workflowBundle !== undefined) checkWorkflowBundle(temporal.workflowBundle)
  warnOfRegistry(registry)
  const store = await shareStore(location)
  try {
    warnOfMissingKey(registry, { secrets: store.secrets, env: values })
    await listWorkerAgents(store, registry)
    const target = temporal.connection === undefined ? await connectToTemporal() : null
    if (target !== null) warnOfRemoteTemporal(target.address, storeLocation(location ?? {}).database)
    return await createConnected(
      { registry, store, caps, env: values, failureText, workflows },
      temporal,
      target,
    )
  } catch (error) {
    await store.close()
    throw error
  }
}

/** A worker with workflow code would take threads that were started on its queue. */
function assertNoWorkflows({ workflowsPath, workflowBundle }: Partial<WorkerOptions>): void {
  if (workflowsPath === undefined && workflowBundle === undefined) return
  const given = workflowsPath === undefined ? 'workflowBundle' : 'workflowsPath'
  throw new ConfigError([
    `Expected no workflow code with workflows: false, got ${given}: leave one of the two out.`,
  ])
}

/** `target`: a connection of our own, which ends with the worker. */
async function createConnected(
  thread: ThreadWorker,
  temporal: Partial<WorkerOptions>,
  target: TemporalTarget | null,
): Promise<Worker> {
  const defaults = { taskQueue: taskQueueOf(thread.store.id), ...(target !== null && pick(target)) }
  const close = async (): Promise<void> => {
    await thread.store.close()
    await target?.connection.close()
  }
  try {
    return await Worker.create({
      ...threadWorkerOptions(thread, { ...defaults, ...temporal }),
      // First is outermost: the store closes when everything else has ended.
      plugins: [threadsUntilEnd(close), ...(temporal.plugins ?? [])],
    })
  } catch (error) {
    await target?.connection.close()
    throw target === null ? error : explained(error, target)
  }
}

function pick({ connection, namespace }: TemporalTarget): Pick<WorkerOptions, 'connection' | 'namespace'> {
  return { connection, namespace }
}

function threadsUntilEnd(close: () => Promise<void>): WorkerPlugin & BundlerPlugin {
  return {
    name: 'everthread',
    configureBundler: bundleThreads,
    async runWorker(worker, next) {
      // One that runs refuses to run again, and goes on: what it works with is not that refusal's to close.
      if (worker.getState() !== 'INITIALIZED') return next(worker)
      try {
        await next(worker)
      } finally {
        await close()
      }
    },
  }
}

const NAMES = ['stepsPerRun', 'sessionTurns', 'repeatedToolErrors'] as const

/** The hard caps of a worker: its own limits where it sets any. @throws ConfigError naming each that is no count */
export function runCaps(limits: Partial<RunCaps> = {}): RunCaps {
  const problems = NAMES.flatMap((name) => {
    const value = limits[name]
    if (value === undefined || (Number.isInteger(value) && value >= 1)) return []
    return [`Expected limits.${name} to be a whole number from 1, got ${String(value)}.`]
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return {
    stepsPerRun: limits.stepsPerRun ?? LIMITS.stepsPerRun,
    sessionTurns: limits.sessionTurns ?? LIMITS.sessionTurns,
    repeatedToolErrors: limits.repeatedToolErrors ?? LIMITS.repeatedToolErrors,
  }
}

/** It trusts no type: a wrong import of JavaScript is undefined. @throws ConfigError */
export function checkRegistry(registry: Registry): void {
  const given: unknown = registry
  const isRegistry =
    typeof given === 'object' &&
    given !== null &&
    'names' in given &&
    typeof given.names === 'function' &&
    'warnings' in given &&
    Array.isArray(given.warnings)
  if (isRegistry) return
  const came = typeof given === 'object' && given !== null ? 'another object' : String(given)
  throw new ConfigError([
    `Expected "registry" to be what registry() or loadRegistry() answers, got ${came}: look at its import`,
  ])
}
