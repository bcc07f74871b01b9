import { SimplePlugin } from '@temporalio/plugin'
import type { BundleOptions, ReplayWorkerOptions, WorkerOptions } from '@temporalio/worker'

import { bundleThreads } from './bundle-threads.js'
import { lateThreadWorker } from './late-thread-worker.js'
import type { LateThreadWorker } from './late-thread-worker.js'
import type { ThreadOptions } from './thread-options.js'
import { withoutUndefined } from './without-undefined.js'
import { checkWorkflowBundle } from './workflow-bundle.js'
import { workflowBundleOptions } from './workflow-paths.js'
import { threadWorkerOptions } from './worker-options.js'

/**
 * Threads beside what a worker runs already: `Worker.create({ …, plugins: [new EverthreadPlugin({ registry })] })`. Adds
 * `agentThread` and its activities (`thread.*`); the worker's own workflows, activities, codecs and settings stay as they
 * are, and our knobs hold where it has none. The store opens as the worker runs and closes when it has ended. Given to
 * `bundleWorkflowCode` it adds the same to a bundle.
 * @throws ConfigError for options that cannot work
 */
export class EverthreadPlugin extends SimplePlugin {
  readonly #thread: LateThreadWorker

  constructor(options: ThreadOptions) {
    const thread = lateThreadWorker(options)
    super({ name: 'everthread', runContext: (next) => thread.run(next) })
    this.#thread = thread
  }

  /** @throws ConfigError for a prebuilt bundle without threads, and for a deployment that pins them */
  override configureWorker(options: WorkerOptions): WorkerOptions {
    const { workflowBundle: bundle } = options
    if (this.#thread.workflows && bundle !== undefined) checkWorkflowBundle(bundle)
    return threadWorkerOptions(this.#thread, withoutUndefined(options))
  }

  override configureReplayWorker(options: ReplayWorkerOptions): ReplayWorkerOptions {
    const { workflowsPath } = workflowBundleOptions
    return { ...(options.workflowBundle === undefined && { workflowsPath }), ...withoutUndefined(options) }
  }

  override configureBundler(options: BundleOptions): BundleOptions {
    return this.#thread.workflows ? bundleThreads(options) : options
  }
}
