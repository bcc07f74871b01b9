/** The inputs and answers of the activities at the end of a run, a thread and a child. */
import type { ActivityInput, Usage } from './activities.js'
import type { ChildReport, ThreadStart } from './messages.js'
import type { ThreadOperation } from './operations.js'
import type { Side } from './plan.js'
import type { ControlSnapshot, StopReason } from './status.js'
import type { Millis } from './time.js'

export interface DeliverReportInput extends ActivityInput {
  readonly parent: { readonly threadId: string; readonly callId: string }
  readonly report: number
  /** The parent's calls that this report answers: those whose messages the child has taken; empty if no call waits for it. */
  readonly invocations: readonly string[]
  /** The child closes with it. */
  readonly closes: boolean
  /** How the session ended; the child's `parentCommunication` decides whether the parent gets it. */
  readonly kind: 'result' | 'failure'
  readonly reason: StopReason
  /** Of a session that an activity without an answer has ended. */
  readonly failure?: FailureCause
  /** The session tool call whose mapped payload is the report; null: it ended otherwise, and says why. */
  readonly sessionCall: string | null
}

export type DeliverReportAnswer =
  /** Without a message there is nothing to read: `notice`, or a child of a group, whose report is kept for all. */
  | {
      readonly type: 'delivered'
      readonly kind: 'result' | 'failure' | 'notice'
      readonly messageId: string | null
      /** The child was terminated before it started, and is to end (T8). */
      readonly terminated?: true
    }
  | { readonly type: 'parent_gone' }

/** The variables that a deferred child waits for did not come in time. */
export interface ExpireChildInput extends ActivityInput {
  readonly requestId: string
  readonly reference: string
}

/** Null: the request was answered after all, or the child is gone already. */
export interface ExpireChildAnswer {
  readonly type: 'expired'
  readonly messageId: string | null
}

export interface CheckChildrenInput extends ActivityInput {
  readonly check: number
  readonly references: readonly string[]
  /** Numbers of the last reports that were taken of them, in their order. */
  readonly taken: readonly number[]
}

export interface CheckChildrenAnswer {
  readonly type: 'checked'
  /** Children that are closed or unknown, with Temporal's status. */
  readonly closed: readonly ClosedChild[]
  /** Reports that are in the store and were not taken: a reset has lost their signals. */
  readonly missed?: readonly ChildReport[]
  /** How many of the children, from the first one, were looked at: more do not fit. Left out: all. */
  readonly looked?: number
}

/** A child whose thread does not exist any more. */
export interface ClosedChild {
  readonly reference: string
  /** Temporal's. */
  readonly status: string
}

/** Ends a run, closes a thread, or both; with neither it only stores given up effects and closed children. */
export interface SettleInput extends ActivityInput {
  /** Counts the settles of the thread. */
  readonly settle: number
  readonly end: RunEnd | null
  readonly close: ThreadClose | null
  /** Effects whose activity failed for good: they are closed as failed. */
  readonly givenUp?: readonly string[]
  /** Children that closed and owed nothing: the registry learns it. */
  readonly closed?: readonly ClosedChild[]
  /** Operations of the run whose activity has left no answer: the settle answers with what they did to their thread (T9). */
  readonly unacknowledged?: readonly string[]
  readonly snapshot: ControlSnapshot
  /** Sides whose prompts have been active under the agent; left out: none. The store keeps it for a reopening. */
  readonly activeSides?: readonly Side[]
  readonly start: ThreadStart | null
  readonly createdAt: Millis
}

export interface RunEnd {
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'blocked'
  readonly steps: number
  readonly usage: Usage
  /** What started the run, if the run may have no row yet. */
  readonly trigger?: string
  readonly sessionCall: string | null
  /** Queued tools that are in no queue any more and did not run. */
  readonly tools?: readonly string[]
  /** Of a run that an activity without an answer has ended. */
  readonly failure?: FailureCause
}

/**
 * Why an activity left no answer: it could not be carried out for a day; a worker or an operator (`temporal activity fail`)
 * failed it for good; it was completed with something that is no answer of it (`temporal activity complete`).
 */
export type FailureCause = 'timed_out' | 'failed' | 'no_answer'

export interface ThreadClose {
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: StopReason
}

export interface SettleAnswer {
  readonly type: 'settled'
  /** What was committed with `unacknowledged` and `givenUp`. */
  readonly operations?: readonly ThreadOperation[]
  /**
   * The thread was terminated before it started, its first call was interrupted and is unacknowledged, and the thread is to
   * end (T8).
   */
  readonly terminated?: true
}
