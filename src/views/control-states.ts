/**
 * The control states of the Agent Runtime draft, of what a thread does now.
 *
 * Owns: which of the sixteen states a thread or a turn is in. Does not own: our own status, which says less and never something else.
 */
import { runOutcome } from '../protocol/status.js'
import type { RunSnapshot, StopReason, ThreadStatus } from '../protocol/status.js'

export const CONTROL_STATES = [
  ...(['accepted', 'queued', 'preparing', 'running', 'waiting_input', 'waiting_permission'] as const),
  ...(['waiting_resource', 'blocked', 'streaming', 'retrying', 'lost', 'timed_out', 'completed'] as const),
  ...(['failed', 'cancelled', 'stale'] as const),
] as const

export type ControlState = (typeof CONTROL_STATES)[number]

/** What a thread does now, as its snapshot and its newest events say. */
export interface ControlFacts {
  readonly status: ThreadStatus
  /** True: nobody has answered for the thread; the facts are those that were recorded. */
  readonly stale: boolean
  readonly run: Pick<RunSnapshot<number>, 'doing'> | null
  readonly lastRun: { readonly reason: StopReason } | null
  /** The number of items that wait. */
  readonly queued: number
  /** The phase of the step that goes on, 1 to 7; null: none is known. */
  readonly phase: number | null
  /** The attempt of the request that goes on; null: none does. */
  readonly attempt: number | null
  /** True: text of the request has arrived. */
  readonly isStreaming: boolean
  /** The limits of the budget that the newest run has used up. */
  readonly exceeded: readonly string[]
}

/** States of a thread that is at work or waits, which the draft names as we do. */
const SAME: ReadonlySet<string> = new Set([
  ...['waiting_input', 'waiting_permission', 'waiting_resource', 'blocked', 'lost', 'completed', 'failed'],
])

/** The state of a thread in the words of the draft. A recorded state of a thread at work is `stale`. */
export function controlStateOf(facts: ControlFacts): ControlState {
  const { status, stale } = facts
  if (status === 'lost') return 'lost'
  if (stale && status === 'running') return 'stale'
  if (SAME.has(status)) return status as ControlState
  if (status === 'terminated') return 'cancelled'
  if (status === 'running') return workingState(facts)
  // A thread that rests is as its newest run has ended, unless something waits behind it.
  if (facts.queued > 0) return facts.run === null && facts.lastRun === null ? 'accepted' : 'queued'
  if (status === 'stopped') return 'cancelled'
  return facts.lastRun === null ? 'accepted' : endState(facts.lastRun.reason, facts.exceeded)
}

/** The last phase in which nothing was sent to a model. */
const PREPARING = 2

function workingState({ phase, attempt, isStreaming }: ControlFacts): ControlState {
  if (isStreaming) return 'streaming'
  if (attempt !== null && attempt > 1) return 'retrying'
  return phase !== null && phase <= PREPARING ? 'preparing' : 'running'
}

/** How a run ended, in the words of the draft; `exceeded`: the limits of budgets that it has used up. */
function endState(reason: StopReason, exceeded: readonly string[] = []): ControlState {
  if (reason === 'blocked') return 'blocked'
  if (reason === 'lost') return 'lost'
  // Of the budgets one is for time.
  if (reason === 'budget_exceeded' && exceeded.includes('maxRuntimeSeconds')) return 'timed_out'
  return runOutcome(reason)
}
