import type { Registry } from '../definitions/known-definitions.js'
import { buildPlan } from '../definitions/plan/build-plan.js'
import type { PlanContent } from '../definitions/plan/plan-content.js'
import type { CallModelInput } from '../protocol/activities.js'
import { failure } from '../protocol/failures.js'
import { getPlan } from '../store/agents.js'
import { findOperation } from '../store/operations.js'
import type { OperationRecord } from '../store/operations.js'
import type { ActivityDependencies } from './activity.js'
import type { OperationKey } from './operation.js'
import { Context, log } from './temporal-activity.js'

/** How long an activity waits for a definition that its worker lacks: a rolling deploy takes about a minute. */
const MISSING_DEFINITION = 60_000

/** Plans are immutable under their digest, and a worker uses few of them. */
const contents = new WeakMap<Registry, Map<string, PlanContent>>()

/** The plan with which a new run starts; null if this worker has lacked the agent for a minute. */
function buildCurrentPlan(dependencies: ActivityDependencies, agent: string): PlanContent | null {
  const content = buildPlan(dependencies.registry, agent, dependencies)
  if (!('missing' in content)) return content
  waitForDefinition(`agent "${agent}"`)
  return null
}

/** The plan with which a run started. A run keeps its plan while workers are replaced. */
export async function loadPlan(
  { registry, store }: ActivityDependencies,
  digest: string,
): Promise<PlanContent> {
  const cache = contents.get(registry) ?? new Map<string, PlanContent>()
  contents.set(registry, cache)
  const cached = cache.get(digest)
  if (cached !== undefined) return cached
  // Written by `putPlan` from a `PlanContent`: the store's boundary.
  const content = (await store.read((db) => getPlan(db, digest))) as PlanContent | null
  if (content === null) throw new Error(`Expected the plan ${digest} in the store, found none.`)
  cache.set(digest, content)
  return content
}

/**
 * The time, in milliseconds, at which the log last named each missing definition: every waiting thread makes an
 * attempt about once a second.
 */
const warnedAt = new Map<string, number>()

const MAX_WARNED = 1000

/** Logs a missing definition once in `MISSING_DEFINITION`. */
function warnOfMissing(what: string): void {
  const now = performance.now()
  if (now - (warnedAt.get(what) ?? -Infinity) < MISSING_DEFINITION) return
  if (warnedAt.size >= MAX_WARNED) warnedAt.clear()
  warnedAt.set(what, now)
  log.warn(
    `This worker does not have the ${what}: is it registered, and does every worker run the same version? The activity is retried ` +
      'for a minute, on every worker of the task queue.',
  )
}

/**
 * During a rolling deploy another worker may have the definition that this one lacks, so the activity is retried for
 * a minute. `what` names the definition in this worker's log.
 * @throws `Definition.Missing` within that minute
 */
export function waitForDefinition(what = 'definition'): void {
  const { currentAttemptScheduledTimestampMs, scheduledTimestampMs } = Context.current().info
  warnOfMissing(what)
  if (currentAttemptScheduledTimestampMs - scheduledTimestampMs < MISSING_DEFINITION)
    throw failure('Definition.Missing')
}

/**
 * The plan with which a step runs: the workflow's; else the plan of the first of these operations that an earlier
 * attempt has begun; else the plan of this worker's definitions. Null: this worker has lacked the agent for a minute.
 */
export async function planOfStep(
  dependencies: ActivityDependencies,
  { plan, agent }: CallModelInput,
  begun: readonly OperationKey[],
): Promise<PlanContent | null> {
  if (plan !== null) return loadPlan(dependencies, plan)
  const operations = await dependencies.store.read((db) =>
    Promise.all(begun.map(({ threadId, id }) => findOperation(db, threadId, id))),
  )
  const [kept] = operations.flatMap((operation) => planDigestOf(operation) ?? [])
  return kept === undefined ? buildCurrentPlan(dependencies, agent) : loadPlan(dependencies, kept)
}

function planDigestOf(operation: OperationRecord | null): string | null {
  const detail = operation?.detail
  return typeof detail === 'object' && detail !== null && 'plan' in detail ? String(detail.plan) : null
}
