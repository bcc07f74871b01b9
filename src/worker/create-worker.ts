import type { BundlerPlugin, WorkerOptions, WorkerPlugin } from '@temporalio/worker'
import type { ClientConnectConfig } from '@temporalio/envconfig'
import { checkFailureText } from '../definitions/failure-text.js'
import { runCaps } from '../definitions/plan/build-plan.js'
import { checkPricesOfBudgets } from './budget-prices.js'
import { createPriceList } from '../definitions/prices/model-prices.js'
import { checkRateLimits } from '../policy/rate-limits.js'
import { ConfigError, showAsOneLine } from '../protocol/errors.js'
import { shareStore, storeName } from '../store/open-store.js'
import { storeLocation, taskQueueOf } from '../store/store-location.js'
import { createAheadGate } from './ahead-gate.js'
import { givenRegistry } from './given-registry.js'
import { installLogging } from './logging.js'
import { NativeConnection, Runtime, Worker } from './temporal-worker.js'
import { withLease } from './worker-lease.js'
import { listWorkerAgents } from './worker-agents.js'
import { withSources } from './worker-sources.js'
import {
  instanceEnv,
  policyOptions,
  runLimits,
  temporalOptions,
  threadWorkerOptions,
} from './worker-options.js'
import type { CreateWorkerOptions, ThreadWorker } from './worker-options.js'
import { checkLoginKey, warnOfMissingKey, warnOfRegistry, warnOfRules } from './worker-warnings.js'
import { bundleThreads, checkWorkflowBundle } from './workflow-bundle.js'
import { isPostgres } from '../store/postgres/postgres-place.js'

/**
 * Creates a worker that runs threads: Temporal's own `Worker`, connected by Temporal's environment configuration unless a
 * `connection` is given. Its task queue is EVERTHREAD_TASK_QUEUE, else `everthread-` with the id of its store, which clients
 * of that store derive too. After SIGTERM it accepts no new work, running calls get the grace time, the store closes, and
 * `run()` returns.
 * @throws ConfigError for options that cannot work, StoreError for a place that cannot be used
 */
export async function createWorker(options: CreateWorkerOptions): Promise<Worker> {
  const {
    registry: given,
    agents,
    store: location,
    env,
    limits,
    runAhead,
    failureText,
    prices,
    permissions,
    permissionMode,
    policy,
    approval,
    budgets,
    rateLimits,
    workflows = true,
    ...others
  } = options
  const registry = givenRegistry({ registry: given, agents })
  checkFailureText(failureText)
  checkRateLimits(rateLimits)
  const temporal = temporalOptions(others)
  if (!workflows) assertNoWorkflows(temporal)
  installLogging()
  const caps = runCaps(limits, runAhead)
  const priceList = createPriceList(prices)
  const values = instanceEnv(env)
  const judging = policyOptions({ permissions, permissionMode, policy, approval, budgets })
  checkPricesOfBudgets({ registry, budgets, prices: priceList })
  if (temporal.workflowBundle !== undefined) checkWorkflowBundle(temporal.workflowBundle)
  warnOfRegistry(registry)
  warnOfRules(registry, permissions)
  const store = await shareStore(location)
  try {
    checkLoginKey(registry, store.secrets)
    warnOfMissingKey(registry, { secrets: store.secrets, env: values })
    await listWorkerAgents({ registry, store, env: values, ...judging })
    const target = temporal.connection === undefined ? await connectToTemporal() : null
    if (target !== null) warnOfRemoteTemporal(target.address, storeLocation(location ?? {}).database)
    return await createConnected(
      {
        ...{ registry, store, caps, prices: priceList, env: values, failureText, workflows },
        ...judging,
        ...runLimits(rateLimits, () => store),
      },
      temporal,
      { target, place: storeName(location) },
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
  { target, place }: { readonly target: TemporalTarget | null; readonly place: string },
): Promise<Worker> {
  const defaults = { taskQueue: taskQueueOf(thread.store.id), ...(target !== null && pick(target)) }
  const close = async (): Promise<void> => {
    await thread.store.close()
    await target?.connection.close()
  }
  const gate = createAheadGate()
  const { mayRunAhead } = gate
  try {
    return await Worker.create({
      ...threadWorkerOptions({ ...thread, mayRunAhead }, { ...defaults, ...temporal }),
      // The first plugin is the outermost: the store closes when everything else has ended.
      plugins: [
        leaseAndClose(thread, gate, {
          close,
          onRun: (worker) => announce(worker, { registry: thread.registry, place }, target),
        }),
        ...(temporal.plugins ?? []),
      ],
    })
  } catch (error) {
    await target?.connection.close()
    throw target === null ? error : explainMissingNamespace(error, target)
  }
}

function pick({ connection, namespace }: TemporalTarget): Pick<WorkerOptions, 'connection' | 'namespace'> {
  return { connection, namespace }
}

/** The store is open, the worker beats in it, and sources of tools may hold processes, while the worker runs. */
function leaseAndClose(
  { store, registry }: Pick<ThreadWorker, 'store' | 'registry'>,
  gate: ReturnType<typeof createAheadGate>,
  { close, onRun }: { readonly close: () => Promise<void>; readonly onRun: (worker: Worker) => void },
): WorkerPlugin & BundlerPlugin {
  return {
    name: 'everthread',
    configureBundler: bundleThreads,
    async runWorker(worker, next) {
      // A running worker refuses a second run and goes on: that refusal must not close its store.
      if (worker.getState() !== 'INITIALIZED') return next(worker)
      gate.watch(worker)
      onRun(worker)
      try {
        await withSources(registry, () => withLease(store, worker, () => next(worker)))
      } finally {
        await close()
      }
    },
  }
}

/** One line that a worker runs, and everything that a person needs who finds that it does not. */
function announce(
  { options }: Worker,
  { registry, place }: Pick<ThreadWorker, 'registry'> & { readonly place: string },
  target: TemporalTarget | null,
): void {
  const { agents } = registry.names()
  const temporal = target === null ? 'a connection that was given' : target.address
  Runtime.instance().logger.info(
    `A worker runs: ${agents.length === 0 ? 'no agents' : `agents ${agents.join(', ')}`}; task queue "${options.taskQueue}", ` +
      `store ${place}, Temporal ${temporal}, namespace "${options.namespace}".`,
  )
}

interface TemporalTarget {
  readonly connection: NonNullable<WorkerOptions['connection']>
  readonly address: string
  readonly namespace: string
}

/** Connects by Temporal's environment configuration. @throws ConfigError, or an error of one sentence without a server */
async function connectToTemporal(): Promise<TemporalTarget> {
  const { connectionOptions, namespace } = await readConfiguration()
  const address = connectionOptions.address ?? 'localhost:7233'
  try {
    const connection = await NativeConnection.connect({ ...connectionOptions, address })
    return { connection, address, namespace: namespace ?? 'default' }
  } catch (error) {
    throw showAsOneLine(
      new Error(
        `Expected a Temporal server at ${address}, got ${reasonOf(error)}: ` +
          'start one with "temporal server start-dev", or set TEMPORAL_ADDRESS.',
        { cause: error },
      ),
    )
  }
}

/** Replaces the error of a connected worker that cannot start, if its namespace is missing, with one sentence. */
function explainMissingNamespace(error: unknown, { address, namespace }: TemporalTarget): unknown {
  if (!(error instanceof Error) || !/^Namespace .* was not found/.test(error.message)) return error
  return showAsOneLine(
    new Error(
      `Expected a Temporal server with the namespace "${namespace}", got ${address} without it: ` +
        'create it, or set TEMPORAL_NAMESPACE.',
      { cause: error },
    ),
  )
}

/** Loads the package on demand: a worker with its own connection starts without it. */
async function readConfiguration(): Promise<ClientConnectConfig> {
  const { loadClientConnectConfig } = await import('@temporalio/envconfig')
  try {
    return loadClientConnectConfig()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected Temporal's environment configuration to be readable, got: ${reason}`])
  }
}

/** Takes the innermost sentence of a native error, which is printed as a tree of Rust structures. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /(?:message|error): "([^"]+)"/.exec(text)?.[1]?.toLowerCase() ?? text
}

/** SQLite is a file of this machine: workers elsewhere would run the same threads without their content. */
function warnOfRemoteTemporal(address: string, database: string): void {
  if (isPostgres(database)) return
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  if (host === 'localhost' || host === '::1' || host.startsWith('127.')) return
  Runtime.instance().logger.warn(
    `Threads are stored in a SQLite file of this machine, while Temporal is at ${address}: ` +
      'run all workers and clients of this task queue on this machine.',
  )
}
