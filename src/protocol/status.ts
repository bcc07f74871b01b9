import type { ItemKind } from './payloads/queue.js'
import type { Side } from './plan.js'
import type { Micros, Millis } from './time.js'

/**
 * `running`: a step, tool or blocking child is in flight. `waiting_permission`: an approval is open. `waiting_input`: a
 * call waits for its result from outside. `waiting_resource`: the provider requested a pause, or its limit is reached, or one of the
 * thread's account. `blocked`: a required variable is missing, or the store failed for 24 h. `completed`, `failed`: closed after a
 * session stop, or after a session fail or a cap. `lost`: closed in Temporal while its row is open. Later versions add
 * members.
 */
export type ThreadStatus =
  | 'idle'
  | 'running'
  | 'waiting_permission'
  | 'waiting_input'
  | 'waiting_resource'
  | 'blocked'
  | 'stopped'
  | 'completed'
  | 'failed'
  | 'terminated'
  | 'lost'
  | (string & {})

/** Why a run ended. Later versions add members. */
export type StopReason =
  | 'stop_on_response'
  /** The agent has answered, and the answer was truncated by its limit of length. */
  | 'answer_cut'
  | 'stop_tool'
  | 'session_stop'
  | 'session_fail'
  | 'max_steps'
  | 'max_session_turns'
  | 'hard_cap'
  | 'repeated_tool_error'
  | 'hook_blocked'
  /** A budget does not allow for more. */
  | 'budget_exceeded'
  /** The answers did not fit the output of the agent. */
  | 'output_invalid'
  | 'nothing_to_do'
  | 'model_failed'
  | 'definition_missing'
  | 'blocked'
  | 'stopped'
  /** A message that was sent to preempt it ended it. */
  | 'preempted'
  | 'terminated'
  /** An operator closed the thread in Temporal, and it was reopened. */
  | 'lost'
  | (string & {})

/** The outcome of a run, as its last event names it; `runOutcome` derives it from the reason. */
export type RunOutcome = 'completed' | 'failed' | 'cancelled'

const COMPLETED: ReadonlySet<StopReason> = new Set([
  'stop_on_response',
  'answer_cut',
  'stop_tool',
  'session_stop',
  'nothing_to_do',
])

const CANCELLED: ReadonlySet<StopReason> = new Set(['stopped', 'preempted', 'terminated'])

/** A run ends `completed` or `cancelled` for these reasons, and `failed` for all others. */
export function runOutcome(reason: StopReason): RunOutcome {
  if (COMPLETED.has(reason)) return 'completed'
  return CANCELLED.has(reason) ? 'cancelled' : 'failed'
}

/** The answer of the `snapshot` query: control state only; the client adds texts from the store. */
export interface ControlSnapshot {
  readonly threadId: string
  readonly agent: string
  readonly parent: string | null
  readonly status: ThreadStatus
  readonly at: Millis
  readonly run: ControlRun | null
  readonly queue: readonly QueuedItem<Millis>[]
  readonly pending: readonly PendingItem<Millis>[]
  readonly effects: readonly ScheduledItem<Millis>[]
  /** The open children. */
  readonly children: readonly OpenChildItem[]
  readonly lastRun: LastRun<Millis> | null
}

interface ControlRun extends RunSnapshot<Millis> {
  /** The activity in flight may have done more steps than these: the client's snapshot takes them from the store. */
  readonly mayBeAhead?: true
}

interface OpenChildItem {
  readonly reference: string
  /** An invocation of it is unanswered. */
  readonly owed: boolean
}

export interface RunSnapshot<At = Micros> {
  readonly runId: string
  readonly side: Side
  readonly steps: number
  readonly sessionTurns: number
  /** 'model chat', 'tool refund_order', 'child …', or null between two of them. */
  readonly doing: string | null
  /** The task queue of that work, if it is not the thread's own. Without a worker there the work waits. */
  readonly taskQueue?: string
  readonly since: At
}

export interface QueuedItem<At = Micros> {
  readonly id: string
  readonly kind: ItemKind
  readonly queuedAt: At
}

/** A request that waits for an answer from outside. */
export interface PendingItem<At = Micros> {
  readonly id: string
  /** `approval`, `call`, `variables`, … */
  readonly kind: string
  /** Null if no call waits for it. */
  readonly toolName: string | null
  readonly requestedAt: At
}

/** An effect that is not due yet. */
export interface ScheduledItem<At = Micros> {
  readonly id: string
  readonly dueAt: At
}

export interface LastRun<At = Micros> {
  readonly runId: string
  readonly reason: StopReason
  readonly steps: number
  readonly endedAt: At
}

/** The outcome of a call; `unknown` is that of an interrupted side effect. */
export type CallOutcome = 'succeeded' | 'failed' | 'denied' | 'interrupted' | 'cancelled' | 'unknown'

/** Tokens, and cost in millionths of a dollar; null when a price is unknown. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cost: number | null
}

/** Milliseconds; all null if there was none. `p50` and `p95`: half, and 95 % of them, took at most so long. */
export interface Durations {
  readonly count: number
  readonly mean: number | null
  readonly p50: number | null
  readonly p95: number | null
  readonly max: number | null
}

/** Requests to providers, with retries and fallbacks. */
export interface RequestsUsage extends Usage {
  readonly requests: number
  /** Those without an answer that could be used. */
  readonly failedRequests: number
  /** Millionths of a dollar: the part of `cost` whose prices are known; all of it unless `cost` is null. */
  readonly knownCost: number
  /** From a request to the end of its answer. */
  readonly answerTime: Durations
}

export interface ModelUsage extends RequestsUsage {
  /** Its name in the registry. */
  readonly model: string
}

/** What a thread, or a tree of threads, has used so far: sums over its rows. */
export interface ThreadUsage extends RequestsUsage {
  /** 1, or the threads of the tree. */
  readonly threads: number
  /** Rows of transcripts, silent and nested ones too. */
  readonly messages: number
  readonly runs: number
  /** Steps in which a model has answered. */
  readonly steps: number
  /** Calls that models or code have made, whatever became of them. */
  readonly toolCalls: number
  /** Those that have ended without success: failed, denied, interrupted, cancelled or unknown. */
  readonly failedToolCalls: number
  /** From the beginning of a call to its result. */
  readonly toolTime: Durations
  /** By name. */
  readonly models: readonly ModelUsage[]
}

/** A request to a provider, as the rows of operations have it. */
export interface RecordedRequest {
  readonly model: string
  /** Null: unknown. */
  readonly usage: Usage | null
  /** The reason for no answer: `lost` if its attempt was interrupted. Null: it has an answer, or none yet. */
  readonly error: string | null
  /** Milliseconds until it ended. */
  readonly took?: number
}

/**
 * A cost in millionths of a dollar, as `run.usage.cost` has it, as people read it: `$1.50`, `$0.0123`, `<$0.0001`; `unknown` for
 * null.
 */
export function formatCost(cost: number | null): string {
  if (cost === null) return 'unknown'
  const dollars = cost / 1_000_000
  if (dollars === 0) return '$0.00'
  if (dollars < 0.0001) return '<$0.0001'
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`
}

/** A child as the registry of its parent has it. */
export interface SubagentRegistryEntry {
  /** The child's thread id. */
  readonly reference: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly resumable: boolean
  readonly blocking: boolean
  /** The instance's own name. */
  readonly threadName?: string
  /** The same for all children that one call started together. */
  readonly spawnGroupId?: string
  readonly createdAt: Micros
  /** `running`, `completed`, `failed`, `terminated`, `deferred`, or the text that the child set with `setStatus`. */
  readonly status: string
  readonly parentCommunication: 'implicit' | 'explicit'
}

/** A child whose rows, files and first message are in the store. */
export interface PreparedChild {
  /** The child's thread id. */
  readonly reference: string
  readonly agent: string
  readonly messageId: string
  readonly resumable: boolean
}

/** How a child answered a call that waited for it. */
export type CallReport =
  /** The child's report is in the store; `notice`: it ended and, by its configuration, reports no text. */
  | { readonly kind: 'result' | 'failure' | 'notice'; readonly messageId?: string }
  /** The child closed without a report, with this status of Temporal. */
  | { readonly kind: 'closed'; readonly status: string }
  /** The call has timed out. */
  | { readonly kind: 'timed_out' }
