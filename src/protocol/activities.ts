import type { Fact } from './facts.js'
import type { Plan, Side } from './plan.js'
import type { ControlSnapshot } from './snapshot.js'
import type { StopReason } from './status.js'
import type { ThreadStart } from './messages.js'

/** The protocol level that this code speaks; a worker that does not know an input's level does not run it (T11). */
export const LEVEL = 1

/** Activity names are wire format. */
export const ACTIVITIES = {
  callModel: 'thread.callModel',
  executeTool: 'thread.executeTool',
  prepareChild: 'thread.prepareChild',
  completeCall: 'thread.completeCall',
  deliverReport: 'thread.deliverReport',
  checkChildren: 'thread.checkChildren',
  settle: 'thread.settle',
} as const

/** In every activity input. */
export interface ActivityInput {
  readonly level: number
  readonly threadId: string
  /** The workflow's time in milliseconds; facts of the thread are stamped with it. */
  readonly now: number
  /** Counted in the carried state; never Temporal's run id, which changes after a reset. */
  readonly run: number
  /** Decided by the workflow since the last activity, stored with this one's first transaction. */
  readonly facts: readonly Fact[]
}

export interface StepInput extends ActivityInput {
  readonly step: number
  readonly side: Side
  readonly agent: string
}

/** Tokens, and cost in millionths of a dollar; null when a price is unknown. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cost: number | null
}

/** A queued item on its way into the transcript. */
export type DrainItem =
  | { readonly kind: 'message'; readonly id: string; readonly inline?: InlineMessage }
  | {
      readonly kind: 'child_closed'
      readonly id: string
      readonly reference: string
      readonly status: string
    }

export interface InlineMessage {
  readonly content: string
  readonly role: 'user' | 'assistant'
  readonly silent: boolean
}

/** Any activity may find that the thread was terminated: its row is the authority (T8). */
export interface TerminatedAnswer {
  readonly type: 'terminated'
}

/** Any activity of a step may end the run; the workflow obeys whoever said it. */
export interface EndAnswer {
  readonly type: 'end'
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'blocked'
  readonly usage?: Usage
}

export interface CallModelInput extends StepInput {
  /** The run's plan; null in the first step of a run, which finds the current one. */
  readonly plan: string | null
  /** The digest that the thread ran last; the plan comes back only when it changed. */
  readonly knownPlan: string | null
  /** What started the run, in its first step; null in all others. */
  readonly trigger: string | null
  /** Somebody asked to go on: a step is made even if no message came. */
  readonly asked: boolean
  /** The side's turn begins with this step. */
  readonly sideStarts: boolean
  /** The other side ended its turn without text: a neutral silent line stands in for its words. */
  readonly wordless: boolean
  readonly drain: readonly DrainItem[]
  /** Given while the thread's row may be missing: a start from the command line has none. */
  readonly start: ThreadStart | null
  readonly createdAt: number
}

export type CallModelAnswer =
  | {
      readonly type: 'answered'
      readonly plan?: Plan
      readonly text: boolean
      readonly calls: readonly CallRequest[]
      readonly usage: Usage
    }
  | { readonly type: 'nothing_to_do'; readonly plan?: Plan }
  | { readonly type: 'interrupted'; readonly plan?: Plan }
  | EndAnswer
  | TerminatedAnswer

export interface CallRequest {
  readonly id: string
  /** A name of the plan; any other is words of the model, and stays in the store (T5). */
  readonly name: string
}

/** Stands for every name that the plan does not have. */
export const UNKNOWN_TOOL = '(unknown)'

export interface CallInput extends StepInput {
  readonly plan: string
  readonly callId: string
  readonly name: string
  /** Steps of the run by side, this one included. */
  readonly sideSteps: Readonly<Record<Side, number>>
  /** First and last call of its step: they mark the phases 5 and 6. */
  readonly first: boolean
  readonly last: boolean
}

/** What became of a call; `unknown` is what an interrupted side effect is. */
export type CallOutcome = 'succeeded' | 'failed' | 'denied' | 'interrupted' | 'cancelled' | 'unknown'

export interface ResultAnswer {
  readonly type: 'result'
  readonly outcome: CallOutcome
  /** Digest of the normalised error text: equal ones are counted. */
  readonly errorDigest?: string
  /** Messages that the call queued on its thread, committed with its result (T9). */
  readonly queued?: readonly { readonly id: string; readonly role: 'user' | 'assistant' }[]
  /** The call asked to end its thread, after its result was stored. */
  readonly terminate?: boolean
}

export type ExecuteToolAnswer = ResultAnswer | EndAnswer | TerminatedAnswer

export interface PrepareChildInput extends CallInput {
  /** Children that the thread has started, and those of them that are owed. */
  readonly children: number
  readonly owed: number
}

export type PrepareChildAnswer =
  | { readonly type: 'child'; readonly reference: string; readonly agent: string; readonly messageId: string }
  | ResultAnswer
  | EndAnswer
  | TerminatedAnswer

export interface CompleteCallInput extends CallInput {
  readonly reference: string
  /** The child's report, or the status with which it closed without one. */
  readonly report:
    | { readonly kind: 'result' | 'failure'; readonly messageId: string }
    | { readonly kind: 'closed'; readonly status: string }
}

export type CompleteCallAnswer = ResultAnswer | EndAnswer | TerminatedAnswer

export interface DeliverReportInput extends ActivityInput {
  readonly parent: { readonly threadId: string; readonly callId: string }
  readonly report: number
  readonly kind: 'result' | 'failure'
  readonly reason: StopReason
  /** The session tool call whose mapped payload is the report; null: it ended otherwise, and says why. */
  readonly sessionCall: string | null
}

export type DeliverReportAnswer =
  | { readonly type: 'delivered'; readonly messageId: string }
  | { readonly type: 'parent_gone' }

export interface CheckChildrenInput extends ActivityInput {
  readonly check: number
  readonly references: readonly string[]
}

export interface CheckChildrenAnswer {
  readonly type: 'checked'
  /** Children that are closed or unknown, with Temporal's status. */
  readonly closed: readonly { readonly reference: string; readonly status: string }[]
}

/** Ends a run, closes a thread, or both. */
export interface SettleInput extends ActivityInput {
  /** Counts the settles of the thread. */
  readonly settle: number
  readonly end: RunEnd | null
  readonly close: ThreadClose | null
  readonly snapshot: ControlSnapshot
  readonly children: readonly string[]
  readonly start: ThreadStart | null
  readonly createdAt: number
}

export interface RunEnd {
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'blocked'
  readonly steps: number
  readonly usage: Usage
  readonly sessionCall: string | null
}

export interface ThreadClose {
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: StopReason
}

export interface SettleAnswer {
  readonly type: 'settled'
}

/** What `agentThread` returns: control facts, never text. */
export interface ThreadResult {
  readonly threadId: string
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: string
}

/** The activities as the workflow calls them, by their short names. */
export interface ThreadActivities {
  callModel(input: CallModelInput): Promise<CallModelAnswer>
  executeTool(input: CallInput): Promise<ExecuteToolAnswer>
  prepareChild(input: PrepareChildInput): Promise<PrepareChildAnswer>
  completeCall(input: CompleteCallInput): Promise<CompleteCallAnswer>
  deliverReport(input: DeliverReportInput): Promise<DeliverReportAnswer>
  checkChildren(input: CheckChildrenInput): Promise<CheckChildrenAnswer>
  settle(input: SettleInput): Promise<SettleAnswer>
}
