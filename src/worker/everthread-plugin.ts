import { SimplePlugin } from '@temporalio/plugin'
import type { BundleOptions, ReplayWorkerOptions, Worker, WorkerOptions } from '@temporalio/worker'
import { checkFailureText } from '../definitions/failure-text.js'
import { shareStore } from '../store/open-store.js'
import type { Store } from '../store/store.js'
import { givenRegistry } from './given-registry.js'
import { runCaps } from '../definitions/plan/build-plan.js'
import { createPriceList } from '../definitions/prices/model-prices.js'
import { checkRateLimits } from '../policy/rate-limits.js'
import { withoutUndefined } from '../protocol/values.js'
import { checkPricesOfBudgets } from './budget-prices.js'
import { createAheadGate } from './ahead-gate.js'
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
import type { ThreadOptions, ThreadWorker } from './worker-options.js'
import { checkLoginKey, warnOfMissingKey, warnOfRegistry, warnOfRules } from './worker-warnings.js'
import { bundleThreads, checkWorkflowBundle, workflowBundleOptions } from './workflow-bundle.js'

/**
 * Adds threads to a worker with code of its own: `Worker.create({ …, plugins: [new EverthreadPlugin({ registry })] })`. It adds
 * `agentThread` and its activities (`thread.*`). The worker's own workflows, activities, codecs and settings stay as they
 * are; our settings are defaults for those that are not set. The store opens when the worker runs and closes when it has
 * ended. As a plugin of `bundleWorkflowCode` it adds threads to a bundle.
 * @throws ConfigError for options that cannot work
 */
export class EverthreadPlugin extends SimplePlugin {
  readonly #thread: RunningThreadWorker

  constructor(options: ThreadOptions) {
    const thread = createThreadWorker(options)
    super({ name: 'everthread' })
    this.#thread = thread
  }

  /** @throws ConfigError for a prebuilt bundle without threads, and for a deployment that pins them */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    const { workflowBundle: bundle } = options
    if (this.#thread.workflows && bundle !== undefined) checkWorkflowBundle(bundle)
    return threadWorkerOptions(this.#thread, { taskQueue: options.taskQueue, ...temporalOptions(options) })
  }

  override runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    return this.#thread.run(worker, (store) => withLease(store, worker, () => next(worker)))
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    const { workflowsPath } = workflowBundleOptions
    return { ...(options.workflowBundle === undefined && { workflowsPath }), ...withoutUndefined(options) }
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    return this.#thread.workflows ? bundleThreads(options) : options
  }
}

/** A worker of threads whose store is open while it runs. */
interface RunningThreadWorker extends ThreadWorker {
  readonly workflows: boolean
  run(worker: Worker, work: (store: Store) => Promise<void>): Promise<void>
}

/** @throws ConfigError for options that cannot work */
function createThreadWorker({
  registry: given,
  agents,
  store: location,
  env,
  limits,
  runAhead,
  failureText,
  prices,
  rateLimits,
  workflows = true,
  ...judging
}: ThreadOptions): RunningThreadWorker {
  const registry = givenRegistry({ registry: given, agents })
  checkFailureText(failureText)
  checkRateLimits(rateLimits)
  const values = instanceEnv(env)
  const judged = policyOptions(judging)
  const priceList = createPriceList(prices)
  checkPricesOfBudgets({ registry, budgets: judged.budgets, prices: priceList })
  const gate = createAheadGate()
  let opened: Store | undefined
  const openedStore = (): Store => {
    if (opened === undefined) throw new Error('Expected an activity while its worker runs, got one before.')
    return opened
  }
  return {
    registry,
    caps: runCaps(limits, runAhead),
    prices: priceList,
    env: values,
    failureText,
    ...judged,
    mayRunAhead: gate.mayRunAhead,
    workflows,
    ...runLimits(rateLimits, openedStore),
    get store() {
      return openedStore()
    },
    async run(worker, work) {
      gate.watch(worker)
      warnOfRegistry(registry)
      warnOfRules(registry, judged.permissions)
      const store = await shareStore(location)
      try {
        checkLoginKey(registry, store.secrets)
        warnOfMissingKey(registry, { secrets: store.secrets, env: values })
        await listWorkerAgents({ registry, store, env: values, ...judged })
        opened = store
        await withSources(registry, () => work(store))
      } finally {
        await store.close()
      }
    },
  }
}
