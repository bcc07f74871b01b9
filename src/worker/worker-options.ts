import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { VersioningBehavior, WorkerDeploymentVersion } from '@temporalio/common'
import type { WorkerOptions } from '@temporalio/worker'
import type { ActivityDependencies } from '../activities/activity.js'
import { createActivities } from '../activities/index.js'
import type { FailureText } from '../definitions/failure-text.js'
import type { Registry } from '../definitions/known-definitions.js'
import { ConfigError } from '../protocol/errors.js'
import type { Policy } from '../policy/action.js'
import { approvalRuleProblem } from '../policy/approval.js'
import type { ApprovalRule } from '../policy/approval.js'
import { budgetsProblem } from '../policy/budget.js'
import type { Budgets } from '../policy/budget.js'
import { permissionModeProblem } from '../policy/judge.js'
import type { PermissionMode } from '../policy/judge.js'
import { permissionsProblem } from '../policy/permissions.js'
import type { RateLimits } from '../policy/rate-limits.js'
import { createRollingClock } from '../policy/rolling-window.js'
import type { RollingClock } from '../policy/rolling-window.js'
import type { Permissions } from '../policy/permissions.js'
import { LIMITS } from '../protocol/limits.js'
import type { PriceList } from '../definitions/prices/defined-prices.js'
import type { Agent } from '../definitions/short-form/agent.js'
import type { GivenPrices } from '../definitions/prices/model-prices.js'
import type { RunAhead, RunCaps } from '../protocol/plan.js'
import type { Millis } from '../protocol/time.js'
import { variableNameProblem, variableValueProblem, withoutUndefined } from '../protocol/values.js'
import type { StoreOptions } from '../store/store-location.js'
import type { Store } from '../store/store.js'
import { activityInterceptor } from './activity-interceptor.js'
import { noteSecretsOfEnv } from './worker-warnings.js'
import { codeName, workflowBundleOptions } from './workflow-bundle.js'

export interface ThreadWorker extends Pick<
  ActivityDependencies,
  'mayRunAhead' | 'permissions' | 'permissionMode' | 'policy' | 'approval' | 'budgets' | 'rateLimits'
> {
  readonly registry: Registry
  readonly store: Store
  readonly caps: RunCaps
  readonly prices?: PriceList | undefined
  readonly env?: Readonly<Record<string, string>>
  readonly failureText?: FailureText | undefined
  /** False: activities only; without workflow code Temporal's worker polls for no workflow tasks. @default true */
  readonly workflows?: boolean
}

/**
 * Adds threads to the options of a worker and keeps what these options set. `bundleThreads` makes the workflow code.
 * @throws ConfigError
 */
export function threadWorkerOptions(thread: ThreadWorker, options: WorkerOptions): WorkerOptions {
  const { workflows = true, registry, env = {} } = thread
  noteSecretsOfEnv(registry, env)
  const bundles = workflows && options.workflowBundle === undefined
  // A deployment names its code by version.
  const name = workflows && options.workerDeploymentOptions === undefined ? codeName(options) : null
  return {
    ...(bundles && { workflowsPath: workflowBundleOptions.workflowsPath }),
    ...WORKER_KNOBS,
    identity: uniqueIdentity(),
    ...(name !== null && { buildId: name }),
    ...options,
    activities: { ...options.activities, ...createActivities(thread) },
    interceptors: {
      ...options.interceptors,
      // The first is the outermost: errors of the user's interceptors must not reach a history as they are (T5).
      activity: [activityInterceptor(thread), ...(options.interceptors?.activity ?? [])],
    },
  }
}

/** An identity that no other worker has had: a restarted container has the process id and the host name of the one before. */
function uniqueIdentity(): string {
  return `${process.pid}@${hostname()}-${randomUUID().slice(0, 8)}`
}

/** Values of variables for every thread of a worker; undefined ones are not set, as in `process.env`. */
export type InstanceEnv = Readonly<Record<string, string | undefined>>

/** @throws ConfigError with every wrong name or value; values are not shown */
export function instanceEnv(env: InstanceEnv = {}): Readonly<Record<string, string>> {
  const values = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  const problems = values.flatMap(
    ([name, value]) => variableNameProblem(name) ?? variableValueProblem(name, value) ?? [],
  )
  if (problems.length > 0) throw new ConfigError(problems.map((problem) => `env: ${problem}`))
  return Object.fromEntries(values)
}

type PolicyOptions = Pick<ThreadWorker, 'permissions' | 'permissionMode' | 'policy' | 'approval' | 'budgets'>

/** The options of a worker's policy that are set. @throws ConfigError with each wrong one */
export function policyOptions({
  permissions,
  permissionMode,
  policy,
  approval,
  budgets,
}: PolicyOptions): PolicyOptions {
  const [wrongRules, wrongMode] = [permissionsProblem(permissions), permissionModeProblem(permissionMode)]
  const problems = wrongRules === undefined ? [] : [`permissions: ${wrongRules}`]
  if (wrongMode !== undefined) problems.push(`permissionMode: ${wrongMode}`)
  const wrongApproval = approvalRuleProblem(approval)
  if (wrongApproval !== undefined) problems.push(`approval: ${wrongApproval}`)
  const wrongBudgets = budgetsProblem(budgets)
  if (wrongBudgets !== undefined) problems.push(`budgets: ${wrongBudgets}`)
  if (policy !== undefined && typeof policy !== 'function')
    problems.push(`Expected policy to be a function, as definePolicy takes one, got ${typeof policy}.`)
  if (problems.length > 0) throw new ConfigError(problems)
  return withoutUndefined({ permissions, permissionMode, policy, approval, budgets })
}

interface RunLimitsOptions {
  /** The server of a test skips time, and the clock of the store does not: the time of the workflow counts. @default false */
  readonly skipsTime?: boolean
}

/** The limits of accounts with which a worker runs threads of this store. */
export function runLimits(
  limits: RateLimits | undefined,
  store: () => Store,
  { skipsTime = false }: RunLimitsOptions = {},
): Pick<ThreadWorker, 'rateLimits'> {
  if (limits === undefined) return {}
  const clock = createRollingClock()
  return { rateLimits: { limits, store, clock: (now) => (skipsTime ? skippedClock(now) : clock) } }
}

function skippedClock(now: Millis): RollingClock {
  return { read: (at) => ({ at: Math.max(at, now / 1000), unmoved: [], isSteady: true }) }
}

/** The settings in which a worker of threads differs from Temporal's defaults; a user's own setting overrides each. */
export const WORKER_KNOBS = {
  /** How long a thread stalls when its worker dies; 10 s by default. */
  stickyQueueScheduleToStartTimeout: '2s',
  /** A deploy lets model calls finish: with a shorter grace time, every longer call would be paid again. */
  shutdownGraceTime: LIMITS.modelCall,
} as const satisfies Partial<WorkerOptions>

/** Temporal's own options; only the default behavior is optional. */
interface ThreadDeploymentOptions {
  readonly version: WorkerDeploymentVersion
  readonly useWorkerVersioning: boolean
  /** @default AUTO_UPGRADE */
  readonly defaultVersioningBehavior?: VersioningBehavior | undefined
}

/** The options of Temporal that are set: those that are undefined would hide our defaults. @throws ConfigError */
export function temporalOptions({
  workerDeploymentOptions: deployment,
  ...options
}: Omit<CreateWorkerOptions, keyof ThreadOptions>): Partial<WorkerOptions> {
  return {
    ...withoutUndefined(options),
    ...(deployment !== undefined && { workerDeploymentOptions: threadDeployment(deployment) }),
  }
}

/**
 * Completes the options of a deployment, so that threads move to a new version when it becomes current: a pinned idle thread
 * would never wake once the workers of its version have stopped. @throws ConfigError when all workflows are pinned
 */
export function threadDeployment(
  given: ThreadDeploymentOptions,
): NonNullable<WorkerOptions['workerDeploymentOptions']> {
  if (!given.useWorkerVersioning) return { version: given.version, useWorkerVersioning: false }
  const { version, defaultVersioningBehavior: behavior = 'AUTO_UPGRADE' } = given
  if (behavior === 'PINNED')
    throw new ConfigError([
      'Expected workerDeploymentOptions.defaultVersioningBehavior to be AUTO_UPGRADE, got PINNED: a pinned thread would ' +
        'never wake once the workers of its version are gone; pin workflows of your own with setWorkflowOptions.',
    ])
  return { version, useWorkerVersioning: true, defaultVersioningBehavior: behavior }
}

/** The options of threads, for a worker. It needs a registry, or agents in its place. */
export interface ThreadOptions {
  readonly registry?: Registry
  /** Agents in the short form, with all that they reach: the same as `registry: registry({ agents })`. */
  readonly agents?: readonly Agent[]
  /** Where threads are stored; clients use the same place. */
  readonly store?: StoreOptions
  /** Values of variables for every thread (Standard Agents' instance level): `{ API_KEY: process.env.API_KEY }`. */
  readonly env?: InstanceEnv
  /**
   * Hard caps above the limits of agents. `toolIterations` are steps with tool calls in one run, which ends with `max_steps` then.
   * @default 250 steps a run, 100 session turns, 8 equal tool errors
   */
  readonly limits?: Partial<Omit<RunCaps, 'stepsPerActivity'>>
  /**
   * True: one activity does up to 10 steps of a run, model calls and function tools, one after another; a number: so many. A step
   * costs a fraction of the time and of Temporal's actions then, and the calls are no activities of their own in the Temporal UI
   * (docs/guide/workers.md). An agent's own `runAhead` counts more.
   * @default false
   */
  readonly runAhead?: RunAhead
  /**
   * The text that the end user of a thread reads when a run ends without an answer: one text, or a function of the failure that
   * returns one. The log and `everthread inspect` show the cause in any case.
   * @default sentences that name the model and the kind of failure
   */
  readonly failureText?: FailureText
  /**
   * Prices by the provider's id of a model, for models whose definition has none: `{ 'gpt-5': { inputPrice: 1.25, outputPrice: 10 } }`
   * in US dollars per million tokens; null: unknown. @default the table of docs/guide/costs.md
   */
  readonly prices?: GivenPrices
  /**
   * Rules about the capabilities of tools and agents, for all threads: `{ 'orders.*': 'require_approval' }`. Rules of agents and
   * threads can make them stricter, and never weaker.
   */
  readonly permissions?: Permissions
  /**
   * What happens to what rules leave open. What it demands holds in all threads; the mode of a thread can demand more.
   * @default 'default'
   */
  readonly permissionMode?: PermissionMode
  /** A function that judges each call by its arguments, as `definePolicy` declares it. */
  readonly policy?: Policy
  /**
   * What each account may use in a minute, over all workers: a run above a limit waits. Of a worker's count tokens and tool calls;
   * `serveThreads` takes the others. `DEFAULT_RATE_LIMITS` switches all of them on. @default none
   */
  readonly rateLimits?: RateLimits
  /** Who may answer requests for an approval, and until when, for all tools: the rule of a tool can make it stricter. */
  readonly approval?: ApprovalRule
  /**
   * What each run, each thread, and each root thread with all of its subagents may use. Budgets of agents, threads, users and accounts
   * can only be tighter.
   */
  readonly budgets?: Budgets
  /**
   * `false` for a worker on the `taskQueue` of tools or models, which runs their calls and no threads.
   * @default true
   */
  readonly workflows?: boolean
}

/** Every option of Temporal's worker is passed on; the workflows of a `workflowsPath` run beside threads. */
export interface CreateWorkerOptions
  extends Partial<Omit<WorkerOptions, 'workerDeploymentOptions'>>, ThreadOptions {
  readonly workerDeploymentOptions?: ThreadDeploymentOptions
}
