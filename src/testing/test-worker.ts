import type { WorkerOptions } from '@temporalio/worker'
import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Store } from '../store/store.js'
import { bundleWorkflowCode, DefaultLogger, Worker } from '../worker/temporal-worker.js'
import { withoutUndefined } from '../protocol/values.js'
import { listWorkerAgents } from '../worker/worker-agents.js'
import { threadWorkerOptions } from '../worker/worker-options.js'
import { threadBundler, workflowBundleOptions } from '../worker/workflow-bundle.js'

interface TestWorkerOptions {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  readonly env: Readonly<Record<string, string>>
  readonly failureText?: FailureText | undefined
  readonly temporal: WorkerOptions
}

interface TestWorker {
  /** Cuts what is running, as the death of its process would, and waits until the worker is gone. */
  stop(): Promise<void>
}

/** Starts a worker that ends quickly. */
export async function startTestWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const { registry, store, caps, env, failureText } = options
  const given = withoutUndefined(options.temporal)
  const ownCode = given.workflowsPath !== undefined || given.workflowBundle !== undefined
  const temporal: WorkerOptions = {
    // No grace: a restart stands for a crash. A tool that ignores its abort signal must not hold the test.
    shutdownGraceTime: 0,
    shutdownForceTime: '5s',
    ...(!ownCode && { workflowBundle: await threadBundle() }),
    ...given,
    plugins: [threadBundler, ...(given.plugins ?? [])],
  }
  await listWorkerAgents(store, registry)
  const worker = await Worker.create(
    threadWorkerOptions({ registry, store, caps, env, failureText }, temporal),
  )
  const ended = worker.run().catch((error: unknown) => {
    if (!isForcedShutdown(error)) throw error
  })
  // `stop` reports a failed worker; until then nobody listens.
  ended.catch(() => undefined)
  return {
    async stop() {
      if (worker.getState() === 'RUNNING') worker.shutdown()
      await ended
    },
  }
}

function isForcedShutdown(error: unknown): boolean {
  return error instanceof Error && error.name === 'GracefulShutdownPeriodExpiredError'
}

let bundle: Promise<{ readonly code: string }> | undefined

/** The workflow code of threads, bundled once a process: it takes seconds, and each worker of a test needs it. */
export function threadBundle(): Promise<{ readonly code: string }> {
  return (bundle ??= bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('WARN') }))
}
