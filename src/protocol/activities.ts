import type { Fact } from './facts.js'
import type { ThreadStart } from './messages.js'
import type { ThreadOperation } from './operations.js'
import type { Plan, Side, ToolPlan } from './plan.js'
import type { CallOutcome, StopReason, ThreadStatus, Usage, CallReport, PreparedChild } from './status.js'
import type { Millis } from './time.js'

export type { CallOutcome, Usage } from './status.js'

/** In every activity input. */
export interface ActivityInput {
  readonly level: number
  readonly threadId: string
  /** The thread's store: workers of others refuse it. Left out until an answer (`StoreAnswer`) says it, if the start did not. */
  readonly store?: string
  /** The workflow's time in milliseconds; facts of the thread are stamped with it. */
  readonly now: Millis
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

/** A queued item on its way into the transcript. */
export type DrainItem =
  | { readonly kind: 'message'; readonly id: string; readonly inline?: InlineMessage }
  | {
      readonly kind: 'child_closed'
      readonly id: string
      readonly reference: string
      readonly status: string
    }
  /** All children that the call `id` started in one go have ended: one message tells what came of them. */
  | { readonly kind: 'group'; readonly id: string }

export interface InlineMessage {
  readonly content: string
  readonly role: 'user' | 'assistant'
  readonly silent: boolean
}

/** A prompt that was called as a tool: one nested step, whose rows are below the call. */
export interface Frame {
  /** The call that it answers. */
  readonly callId: string
  readonly prompt: string
  /** From 1. */
  readonly depth: number
  /** No other call of the step follows: a refusal marks phase 6. */
  readonly last?: true
}

export interface CallModelInput extends StepInput {
  /** The run's plan; null in the first step of a run and after a handoff: then the agent's current one is found. */
  readonly plan: string | null
  /** The digest that the thread ran last; the plan comes back only when it changed. */
  readonly knownPlan: string | null
  /** What started the run, in its first step; null in all others. */
  readonly trigger: string | null
  /** The run begins with a queued tool: plan and row only, no drain and no model call; answered with `begun`. */
  readonly toolFirst: boolean
  /** Null: a step of the side itself. Otherwise nothing is drained, and no turn is counted. */
  readonly frame: Frame | null
  /** A caller asked to go on: the step is made even without a message. */
  readonly asked: boolean
  /** False before the first step of the side's prompt, and again after a handoff: then its immediate subagents start. */
  readonly activated: boolean
  /** Prompts that became active in the run before, one of them maybe before this very step. @default 0 */
  readonly activations?: number
  /** The side's turn begins with this step. */
  readonly sideStarts: boolean
  /** The other side ended its turn without text: a neutral silent line stands in for its words. */
  readonly wordless: boolean
  readonly drain: readonly DrainItem[]
  /** Given while the thread's row may be missing: a start from the command line has none. */
  readonly start: ThreadStart | null
  readonly createdAt: Millis
  /** The call was moved here from another task queue: it is answered here and not moved again. */
  readonly moved?: true
  /** The answer that it waited for. */
  readonly response?: RequestResponse
}

export type CallModelAnswer =
  | {
      readonly type: 'answered'
      readonly plan?: Plan
      /** It has words or files. */
      readonly text: boolean
      /** The text is truncated by its limit of length, and there are no calls. */
      readonly truncated?: true
      readonly calls: readonly CallRequest[]
      readonly usage: Usage
      readonly operations?: readonly ThreadOperation[]
    }
  | { readonly type: 'begun'; readonly plan?: Plan; readonly operations?: readonly ThreadOperation[] }
  /** The run's new plan has its model on another task queue: nothing was done, and nothing stored. */
  | { readonly type: 'moved'; readonly plan: Plan }
  /** The prompt has just become active: these calls come before its first step. Nothing is drained, and no model asked. */
  | {
      readonly type: 'activates'
      readonly plan?: Plan
      readonly calls: readonly ImmediateCall[]
      readonly usage?: Usage
      readonly operations?: readonly ThreadOperation[]
    }
  /** Of a frame: the call that it answers has its result already, and no model was asked. */
  | { readonly type: 'refused'; readonly result: ResultAnswer }
  | { readonly type: 'nothing_to_do'; readonly plan?: Plan; readonly operations?: readonly ThreadOperation[] }
  | {
      readonly type: 'interrupted'
      readonly plan?: Plan
      readonly usage?: Usage
      readonly operations?: readonly ThreadOperation[]
    }
  | PendingAnswer
  | EndAnswer
  | WaitAnswer
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
  /** The prompts that lead to the call, the active one last; empty for a tool queued from outside a step. */
  readonly promptPath: readonly string[]
  /** 0, or that of the frame that made the call. */
  readonly depth: number
  /** Not chosen by a model: it runs whatever the prompt lists. */
  readonly queued: boolean
  /** A call of this step has handed the thread off already. */
  readonly handedOff: boolean
  readonly name: string
  /** Steps of the run by side, this one included. */
  readonly sideSteps: Readonly<Record<Side, number>>
  /** First and last call of its step: they mark the phases 5 and 6. */
  readonly first: boolean
  readonly last: boolean
  /** The answer that the call waited for. */
  readonly response?: RequestResponse | null
}

export interface ResultAnswer {
  readonly type: 'result'
  readonly outcome: CallOutcome
  /** Digest of the normalised error text: equal ones are counted. */
  readonly errorDigest?: string
  readonly operations?: readonly ThreadOperation[]
  /** Of models that were called within the call. */
  readonly usage?: Usage
  /** The call left words of its side in the transcript. */
  readonly text?: true
  /** The call had ended before and nothing was stored: the facts of the input wait for the next activity. */
  readonly storedNothing?: true
}

/**
 * The kind of the name: the workflow goes on with it as with a call of the plan. It is a function only if that runs on
 * another task queue.
 */
export interface KindAnswer {
  readonly type: 'kind'
  readonly tool: ToolPlan
}

export interface ExecuteToolInput extends CallInput {
  readonly response: RequestResponse | null
  /**
   * The call's activity has failed for good, or was completed with what is no answer of it: the call's row decides, and its
   * code is not run (any more).
   */
  readonly failed?: true
  /** An activity has answered on which task queue the name runs: it runs here and is not moved again. */
  readonly moved?: true
}

export type ExecuteToolAnswer =
  | ResultAnswer
  | KindAnswer
  | RemoteAnswer
  | PendingAnswer
  | WaitAnswer
  | EndAnswer
  | TerminatedAnswer

/** A due effect, outside of any step. */
export interface RunEffectInput extends ActivityInput {
  readonly effectId: string
  readonly agent: string
}

export type RunEffectAnswer =
  | { readonly type: 'ran'; readonly operations?: readonly ThreadOperation[] }
  | TerminatedAnswer

/** What `agentThread` returns: control facts, never text. */
export interface ThreadResult {
  readonly threadId: string
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: string
}

/** A subagent that starts as its prompt becomes active: no model chose it. */
export interface ImmediateCall extends CallRequest {
  readonly tool: ToolPlan
}

/** The answers that any activity of a step may give instead of its own result: the workflow treats them alike. */

/** Any activity may find that the thread was terminated: its row is the authority (T8). */
export interface TerminatedAnswer {
  readonly type: 'terminated'
}

/** Any activity of a step may end the run. */
export interface EndAnswer {
  readonly type: 'end'
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'blocked'
  readonly usage?: Usage
  readonly plan?: Plan
  /** The request that a blocked run waits for: it is open until the next run starts and checks again. */
  readonly request?: { readonly id: string; readonly kind: string }
  readonly operations?: readonly ThreadOperation[]
}

/** Any activity of a step may ask to be called again later, under the same operation id: a provider's limit. */
export interface WaitAnswer {
  readonly type: 'wait'
  readonly until: Millis
  readonly plan?: Plan
  readonly usage?: Usage
}

/**
 * Any activity of a step may wait for `respond`, without an activity; the request's row in the store holds the decision. A
 * call goes on as `next` says; a model call is made again under the same operation id.
 */
export interface PendingAnswer {
  readonly type: 'pending'
  readonly requestId: string
  /** `approval`, `call`, …: opaque to the workflow. */
  readonly kind: string
  /** The thread's status meanwhile. */
  readonly status: ThreadStatus
  /** What follows the answer: it is the result, or the call runs and finds it. */
  readonly next: 'complete' | 'execute'
  /** The answer came before the question and is in the request's row: nothing is waited for. */
  readonly answered?: true
  readonly plan?: Plan
  readonly usage?: Usage
  readonly operations?: readonly ThreadOperation[]
}

/** The answer that was waited for; the row of the request holds it, `approved` only what a raw update said. */
export interface RequestResponse {
  readonly requestId: string
  readonly approved?: boolean
}

/** How a call that did not end with its own activity gets its result. */

export interface CompleteCallInput extends CallInput {
  readonly by: Completion
}

/** What answers a call that did not end with its own activity. */
export type Completion =
  /** All that the call waited for have answered; several are those of a group. */
  | {
      readonly kind: 'children'
      readonly reports: readonly { readonly reference: string; readonly report: CallReport }[]
    }
  /** The call does not wait: its children run, or have its message. */
  | { readonly kind: 'sent'; readonly references: readonly string[] }
  /** The nested step of a prompt tool is over; its rows say what came of it. */
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'response'; readonly requestId: string }
  /** The activity of another worker has ended, well or not: the row of the call says what came of it. */
  | { readonly kind: 'remote' }

export type CompleteCallAnswer = ResultAnswer | PendingAnswer | WaitAnswer | EndAnswer | TerminatedAnswer

/**
 * A tool in another language: its code is an activity of somebody else's worker, by its own type on its own task queue.
 * This file is what such a worker sees of Temporal; arguments and results go over HTTP (T5).
 */

/** The answer of `executeTool` for such a tool: all is checked and written down, and the call is to run there. */
export interface RemoteAnswer {
  readonly type: 'remote'
  readonly taskQueue: string
  readonly activity: string
  /** Milliseconds, from the moment when a worker takes it. */
  readonly timeout: number
}

/** The one argument of that activity. What it answers is not read: the result is in the store. */
export interface RemoteCallInput {
  readonly level: number
  readonly threadId: string
  readonly callId: string
  /** The same in every attempt. */
  readonly idempotencyKey: string
}

/** The inputs and answers of the activities that start, message and answer for children. */

export interface PrepareChildInput extends CallInput {
  /** Children that the thread has started, and those of them that are open, owed or deferred. */
  readonly children: number
  readonly open: number
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
