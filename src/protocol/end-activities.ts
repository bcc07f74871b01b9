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
  /** The parent's calls that this report answers, whose messages the child has consumed; empty if no call waits for it. */
  readonly invocations: readonly string[]
  /** The child closes after this report. */
  readonly closes: boolean
  /** How the session ended; the child's `parentCommunication` decides whether the parent gets it. */
  readonly kind: 'result' | 'failure'
  readonly reason: StopReason
  /** The cause, if an activity without an answer has ended the session. */
  readonly failure?: FailureCause
  /**
   * The session tool call whose mapped payload is the report. Null: the session ended otherwise, and the report
   * explains why.
   */
  readonly sessionCall: string | null
}

export type DeliverReportAnswer =
  /** `messageId` is null for a `notice`, and for a child of a group, whose reports become one message. */
  | {
      readonly type: 'delivered'
      readonly kind: 'result' | 'failure' | 'notice'
      readonly messageId: string | null
      /** The child was terminated before it started, and is to end (T8). */
      readonly terminated?: true
    }
  | { readonly type: 'parent_gone' }

/** The activity in flight is to hear of it at once: it is interrupted, or is to go on no further. */
export interface StoreStopInput extends ActivityInput {
  /** `news`: something waits that has no row in the store. */
  readonly by: 'stop' | 'terminate' | 'news'
  /** For news: the operation with which the activity in flight began. */
  readonly operation?: string
}

export interface StoreStopAnswer {
  readonly type: 'stored'
}

/** The variables of a deferred child did not arrive in time. */
export interface ExpireChildInput extends ActivityInput {
  readonly requestId: string
  readonly reference: string
}

/** `messageId` is null if the request has been answered since, or the child no longer exists. */
export interface ExpireChildAnswer {
  readonly type: 'expired'
  readonly messageId: string | null
}

export interface CheckChildrenInput extends ActivityInput {
  readonly check: number
  readonly references: readonly string[]
  /** The number of the last acknowledged report of each child, in the order of `references`. */
  readonly taken: readonly number[]
}

export interface CheckChildrenAnswer {
  readonly type: 'checked'
  /** Children that are closed or unknown, with Temporal's status. */
  readonly closed: readonly ClosedChild[]
  /** Unacknowledged reports in the store: a Temporal reset has removed their signals. */
  readonly missed?: readonly ChildReport[]
  /** The number of children, from the first one, whose results fit into this answer. Absent: all. */
  readonly looked?: number
}

/** A child whose workflow is closed or unknown. */
export interface ClosedChild {
  readonly reference: string
  /** Temporal's status. */
  readonly status: string
}

/**
 * Finalizes a run, closes a thread, or both; with neither it only stores effects that were given up and children that
 * closed.
 */
export interface SettleInput extends ActivityInput {
  /** Counts the settles of the thread. */
  readonly settle: number
  readonly end: RunEnd | null
  readonly close: ThreadClose | null
  /** Effects whose activity failed for good: they are closed as failed. */
  readonly givenUp?: readonly string[]
  /** Children that closed and owed no answer; they leave the registry. */
  readonly closed?: readonly ClosedChild[]
  /**
   * Operations of the run whose answers never reached the workflow: the settle returns the effects that they committed
   * on their thread (T9).
   */
  readonly unacknowledged?: readonly string[]
  /**
   * The step of an unacknowledged model call that may have gone on by itself: the operations of this step and of later ones are
   * unacknowledged, too, and the run may be over.
   */
  readonly unacknowledgedStep?: number
  readonly snapshot: ControlSnapshot
  /** Sides whose prompts have been active under the agent; absent: none. A reopened thread needs them. */
  readonly activeSides?: readonly Side[]
  readonly start: ThreadStart | null
  readonly createdAt: Millis
}

export interface RunEnd {
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'blocked'
  readonly steps: number
  readonly usage: Usage
  /** The trigger of the run, if the run may have no row yet. */
  readonly trigger?: string
  readonly sessionCall: string | null
  /** Queued tools that have left the queue and did not run. */
  readonly tools?: readonly string[]
  /** The cause, if an activity without an answer has ended the run. */
  readonly failure?: FailureCause
}

/**
 * Why an activity left no answer: it could not run for a day; a worker or an operator (`temporal activity fail`) failed
 * it for good; it was completed with an invalid answer (`temporal activity complete`).
 */
export type FailureCause = 'timed_out' | 'failed' | 'no_answer'

export interface ThreadClose {
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: StopReason
}

export interface SettleAnswer {
  readonly type: 'settled'
  /** The operations that were committed with `unacknowledged` and `givenUp`. */
  readonly operations?: readonly ThreadOperation[]
  /**
   * The thread was terminated before it started, its first call was interrupted and is unacknowledged, and the thread is to
   * end (T8).
   */
  readonly terminated?: true
  /** The end that the store has of the run, if an activity without an answer may have stored it. */
  readonly ended?: { readonly reason: StopReason; readonly steps: number }
}
