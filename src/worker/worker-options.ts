import type { WorkerOptions } from '@temporalio/worker'
import { createActivities } from '../activities/index.js'
import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import type { RunCaps } from '../protocol/plan.js'
import type { Store } from '../store/store.js'
import { activityInterceptor } from './activity-interceptor.js'
import { codeName } from './code-name.js'
import { threadDeployment } from './deployment-options.js'
import { noteSecretsOfEnv } from './secret-key-warning.js'
import { WORKER_KNOBS } from './worker-knobs.js'
import { workflowBundleOptions } from './workflow-paths.js'

export interface ThreadWorker {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  readonly env?: Readonly<Record<string, string>>
  readonly failureText?: FailureText | undefined
  /** False: activities only; without workflow code Temporal's worker polls for no workflow tasks. @default true */
  readonly workflows?: boolean
}

/**
 * Adds threads to the options of a worker; what they set stays. Its workflow code is made by `bundleThreads`.
 * @throws ConfigError
 */
export function threadWorkerOptions(thread: ThreadWorker, options: WorkerOptions): WorkerOptions {
  const { workerDeploymentOptions: deployment } = options
  const { workflows = true, registry, env = {} } = thread
  noteSecretsOfEnv(registry, env)
  const bundles = workflows && options.workflowBundle === undefined
  // A deployment's version says it.
  const name = workflows && deployment === undefined ? codeName(options) : null
  return {
    ...(bundles && { workflowsPath: workflowBundleOptions.workflowsPath }),
    ...WORKER_KNOBS,
    ...(name !== null && { buildId: name }),
    ...options,
    ...(deployment !== undefined && { workerDeploymentOptions: threadDeployment(deployment) }),
    activities: { ...options.activities, ...createActivities(thread) },
    interceptors: {
      ...options.interceptors,
      // First is outermost: what an interceptor of the user throws must not reach history as it is (T5).
      activity: [activityInterceptor(thread), ...(options.interceptors?.activity ?? [])],
    },
  }
}
