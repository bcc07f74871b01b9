import type { Routing } from '../../protocol/event-codes.js'
import type { EventType } from '../../protocol/events.js'
import type { ThreadUsage } from '../../protocol/status.js'
import { readBudgetState } from '../../store/budgets/budget-state.js'
import type { BudgetState } from '../../store/budgets/budget-state.js'
import { lastSequence, readEvents } from '../../store/events.js'
import type { StoredEvent } from '../../store/event-rows.js'
import type { Reader } from '../../store/store.js'
import { lastRun } from '../../store/threads/runs.js'
import { sumThreadUsage } from '../../store/threads/thread-usage.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** Which model a thread calls and why, and what that has cost and may still cost, at one moment. */
export interface RoutingSummary {
  readonly threadId: string
  /** The newest choice of a model; null: there is none among its newest 1,000 events. */
  readonly choice: ModelChoice | null
  /** The limit of its account for which it waits; null: it waits for none. */
  readonly waitsFor: ExhaustedLimit | null
  /** The budgets that hold for it and its newest run, as `budget()` reads them. */
  readonly budgets: readonly BudgetState[]
  /** What it has used so far, as `usage()` sums it. */
  readonly usage: ThreadUsage
}

export interface ModelChoice {
  /** The name of the model; null: no model is left. */
  readonly model: string | null
  /** The profile of the request, all candidates with their limits, and the reason. */
  readonly routing: Routing
  /** The candidates that could be called. */
  readonly available: number
  readonly runId: string | null
  readonly stepId: string | null
  /** In microseconds since 1970. */
  readonly at: number
}

export interface ExhaustedLimit {
  /** As `rateLimits` names it. */
  readonly limit: string
  /** When the run tries again, in microseconds since 1970. */
  readonly until: number
}

/** A step has tens of events, of which at least one is of a request. */
const NEWEST = 1_000

/** The newest 1,000 events of a thread, without what delivery joins: what it does now, and has met lately. */
export async function readNewestEvents(db: Reader, threadId: string): Promise<readonly StoredEvent[]> {
  const after = Math.max(0, (await lastSequence(db, threadId)) - NEWEST)
  return readEvents(db, { threadId, after, limit: NEWEST })
}

/** Reads it from the store: no worker has to run. `known`: the newest events, read already. @throws ThreadNotFoundError */
export async function readThreadRouting(
  context: ClientContext,
  threadId: string,
  known?: readonly StoredEvent[],
): Promise<RoutingSummary> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const newest = known ?? (await readNewestEvents(db, threadId))
    const run = (await lastRun(db, threadId))?.number ?? 0
    return {
      threadId,
      choice: findChoice(newest),
      waitsFor: findWait(newest),
      budgets: await readBudgetState(db, { threadId, run }),
      usage: await sumThreadUsage(db, [threadId]),
    }
  })
}

const CHOICES: readonly string[] = ['model.requested', 'model.unavailable'] satisfies readonly EventType[]

function findChoice(events: readonly StoredEvent[]): ModelChoice | null {
  const event = events.findLast(({ type }) => CHOICES.includes(type))
  if (event === undefined) return null
  const { payload, scope, at } = event
  // Written as a `Fact`: the store's boundary.
  const { model = null, routing } = payload as unknown as Pick<ModelChoice, 'routing'> & { model?: string }
  const available = routing.candidates.filter(({ excluded }) => excluded === undefined).length
  return { model, routing, available, runId: scope.runId ?? null, stepId: scope.stepId ?? null, at }
}

/** What ends a wait for a limit: what waited goes on, or its run ends. */
const GOES_ON: readonly string[] = [
  'model.requested',
  'tool.started',
  'run.completed',
  'run.failed',
  'run.cancelled',
] satisfies readonly EventType[]

/** The limit of its account for which a thread waits; null: for none. */
export function findWait(events: readonly StoredEvent[]): ExhaustedLimit | null {
  const event = events.findLast(({ type }) => type === 'limit.changed' || GOES_ON.includes(type))
  if (event?.type !== 'limit.changed') return null
  // Written as a `Fact`: the store's boundary.
  const { limit, until } = event.payload as unknown as ExhaustedLimit
  return { limit, until }
}
