/**
 * The control state of a thread: all that the workflow needs for its decisions, and nothing that the store owns (T5).
 *
 * It owns: what runs next, queue order, counters, the calls of the step in flight with their frames and requests, owed
 * children, due times of effects, the stop flag.
 * It does not own: messages, arguments, results, files, texts of any kind; those are in the store under the ids here.
 * It is plain JSON, carried over continue-as-new, so its size is bounded (LIMITS.carriedStateBytes) and its shape has a
 * version. All functions of this folder are pure: they take a control state and give the next one.
 */
import type { InlineMessage, UnansweredFacts } from '../protocol/activities.js'
import type { ClosedChild, ThreadClose } from '../protocol/end-activities.js'
import type { Fact } from '../protocol/facts.js'
import type { ChildReport, QueuedDelivery, ThreadStart } from '../protocol/messages.js'
import type { OutboundOperation } from '../protocol/operations.js'
import type { Plan, Side } from '../protocol/plan.js'
import type { LastRun, PendingItem, ScheduledItem, PreparedChild } from '../protocol/status.js'
import type { Run } from './run.js'
import type { Millis } from '../protocol/time.js'

export interface ThreadControl {
  readonly stateVersion: number
  readonly threadId: string
  readonly start: ThreadStart
  readonly createdAt: Millis
  /** The thread's row is known to exist. */
  readonly registered: boolean
  readonly agent: string
  readonly plan: Plan | null
  readonly queue: readonly QueueEntry[]
  readonly queueBytes: number
  /** Items without an id of their own get one from this counter. */
  readonly itemsNumbered: number
  readonly runs: number
  readonly run: Run | null
  /** Items wait until `continue` or a message of the user. */
  readonly stopped: boolean
  /** The ids of the last commands that had one, and of messages that preempted: their senders may repeat them. */
  readonly commands: readonly string[]
  readonly terminating: boolean
  readonly closing: Closing | null
  readonly report: Report | null
  readonly children: readonly Child[]
  /** Reports that came before their child or call was known. */
  readonly earlyReports: readonly ChildReport[]
  readonly childrenInAll: number
  /** Outbound signals, which are sent one by one, in order. */
  readonly outbound: readonly OutboundSignal[]
  /** Sides whose prompts have been active under this agent: their immediate subagents have started. */
  readonly activated: readonly Side[]
  /** Calls of the parent that this thread has taken and not answered yet. */
  readonly invocations: readonly string[]
  /** Reports made so far. */
  readonly reports: number
  readonly childChecks: number
  /** After a reset: messages that a recorded step has drained and that no finished run has answered. */
  readonly postponed: PostponedMessages | null
  /** Effects that are not due yet; a due one is an item of the queue. */
  readonly effects: readonly ScheduledItem<Millis>[]
  /** Effects whose activity failed for good, until a settle has stored that. */
  readonly givenUp: readonly string[]
  /** The request that blocked the last run, until it is answered or a run tries again. */
  readonly request: PendingItem<Millis> | null
  readonly settles: number
  readonly facts: readonly Fact[]
  readonly factsDropped: number
  /** They are sent again, until an activity has answered that all facts are stored. */
  readonly unansweredFacts: readonly UnansweredFacts[]
  readonly lastRun: LastRun<Millis> | null
  /** Something was applied since the last continue-as-new: never two in a row without progress. */
  readonly progressed: boolean
}

/** One item of the inbox: everything that asks for work, in the order of acceptance (T3). */
export type QueueEntry =
  | {
      readonly kind: 'message'
      readonly id: string
      readonly role: 'user' | 'assistant'
      readonly queuedAt: Millis
      readonly inline?: InlineMessage
      /** The parent's call that it belongs to. */
      readonly invocation?: string
      /** Left out: it joins the run that is under way. */
      readonly deliver?: QueuedDelivery
    }
  | { readonly kind: 'group'; readonly id: string; readonly queuedAt: Millis }
  | { readonly kind: 'report'; readonly id: string; readonly queuedAt: Millis }
  | {
      readonly kind: 'child_closed'
      readonly id: string
      readonly reference: string
      readonly status: string
      readonly queuedAt: Millis
    }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string; readonly queuedAt: Millis }
  | { readonly kind: 'effect' | 'variables' | 'continue'; readonly id: string; readonly queuedAt: Millis }

export interface Closing extends ThreadClose {
  /** Children that are still to be cancelled; empty when the cascade is done. */
  readonly cascade: readonly string[]
  /** False again when something arrived after the closing transaction. */
  readonly settled: boolean
}

/** A report that is in the parent's store; it is announced once the run of this thread is finalized. */
export interface Report {
  readonly number: number
  readonly kind: 'result' | 'failure' | 'notice'
  readonly messageId: string | null
  readonly invocations: readonly string[]
  /** The last report of the thread, which closes after it. */
  readonly closes: boolean
  /** Also true if the parent is gone. */
  readonly announced: boolean
}

/** Messages that get a run of their own after the recorded runs, whose numbers it continues. */
interface PostponedMessages {
  readonly runs: number
  readonly settles: number
  readonly reports: number
  /** Calls of the parent that these messages belong to. */
  readonly invocations: readonly string[]
}

/** An operation on another thread that its workflow is still to be signalled. */
export interface OutboundSignal {
  readonly to: string
  readonly operation: OutboundOperation
}

/** A child of the thread: from the request for its variables, or from its rows, until its parent knows how it ended. */
export type Child = DeferredChild | OpenChild | IdleClosedChild

/** A subagent that starts once its request for variables is answered. */
export interface DeferredChild extends PreparedChild {
  readonly state: 'deferred'
  readonly requestId: string
  /** The call that asked for it. */
  readonly callId: string
  readonly requestedAt: Millis
  readonly expiresAt: Millis
  /** `supplied`: the child is to be started. `expired`: its time is over; the store has the answer if it came before. */
  readonly request: 'open' | 'supplied' | 'expired'
}

/** A child whose rows exist. */
export interface OpenChild {
  readonly state: 'open'
  readonly reference: string
  readonly resumable: boolean
  /** Calls that its reports have not named yet (T7). */
  readonly owes: readonly OwedCall[]
  /** Number of the last report that was taken. */
  readonly reports: number
  /** Its close event will reach this Temporal run; after continue-as-new there is no such event. */
  readonly observed: boolean
  readonly checks: number
  readonly nextCheckAt: Millis
}

interface OwedCall {
  readonly callId: string
  /** The call does not wait: one item answers it when all children that owe it have ended. */
  readonly isGrouped: boolean
}

/** A child that closed and owed nothing, until a settle has stored that. */
export interface IdleClosedChild extends ClosedChild {
  readonly state: 'closed'
}
