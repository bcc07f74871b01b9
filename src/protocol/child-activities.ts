/** What the activities that start, message and answer for children are given, and answer. */
import type {
  CallInput,
  CallRequest,
  EndAnswer,
  PendingAnswer,
  ResultAnswer,
  TerminatedAnswer,
  WaitAnswer,
} from './activities.js'
import type { ThreadOperation } from './operations.js'
import type { ToolPlan } from './plan.js'

/** A subagent that starts as its prompt becomes active: no model chose it. */
export interface ImmediateCall extends CallRequest {
  readonly tool: ToolPlan
}

export interface PrepareChildInput extends CallInput {
  /** Children that the thread has started, and those of them that are open, owed or deferred. */
  readonly children: number
  readonly open: number
}

/** A child whose rows, files and first message are in the store. */
export interface PreparedChild {
  /** The child's thread id. */
  readonly reference: string
  readonly agent: string
  readonly messageId: string
  readonly resumable: boolean
}

export type PrepareChildAnswer =
  | {
      readonly type: 'children'
      /** One, or those that a fan-out starts in one go. */
      readonly children: readonly PreparedChild[]
      /** One call that is answered once, when all have ended; its id is their `spawnGroupId`. */
      readonly group: boolean
      /** The call waits for what they report; for at most `timeout` milliseconds. */
      readonly blocking: boolean
      readonly timeout?: number
      readonly operations?: readonly ThreadOperation[]
    }
  /** With the operation `defer_child` where the child waits for variables. */
  | ResultAnswer
  | PendingAnswer
  | WaitAnswer
  | EndAnswer
  | TerminatedAnswer

/** Looks up the child that a `subagent_message` names, and stages the message in its store. */
export type PrepareMessageInput = CallInput

export type PrepareMessageAnswer =
  | {
      readonly type: 'message'
      readonly reference: string
      readonly messageId: string
      /** As the side that receives it reads it. */
      readonly role: 'user' | 'assistant'
      readonly blocking: boolean
      readonly timeout?: number
      readonly operations?: readonly ThreadOperation[]
    }
  | ResultAnswer
  | PendingAnswer
  | WaitAnswer
  | EndAnswer
  | TerminatedAnswer

/** How a child answered a call that waited for it. */
export type CallReport =
  /** Its own words are in the store; `notice`: it ended and, by its configuration, says nothing by itself. */
  | { readonly kind: 'result' | 'failure' | 'notice'; readonly messageId?: string }
  /** It closed without a report, with this status of Temporal. */
  | { readonly kind: 'closed'; readonly status: string }
  /** The call waits no longer. */
  | { readonly kind: 'timed_out' }
