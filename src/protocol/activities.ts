import type { Fact } from './facts.js'
import type { ThreadStart } from './messages.js'
import type { ThreadOperation } from './operations.js'
import type { Plan, Side, ToolPlan } from './plan.js'
import type { CallOutcome, StopReason, ThreadStatus, Usage, CallReport, PreparedChild } from './status.js'
import type { Millis } from './time.js'

export type { CallOutcome, Usage } from './status.js'

/** The fields that every activity input has. */
export interface ActivityInput {
  readonly level: number
  readonly threadId: string
  /**
   * The id of the thread's store; workers of another store refuse the input. Absent until the start or an answer
   * (`StoreAnswer`) gives it.
   */
  readonly store?: string
  /** The workflow's time in milliseconds; facts of the thread are stamped with it. */
  readonly now: Millis
  /** The number of the run, counted in the carried state; Temporal's run id would change after a reset. */
  readonly run: number
  /** The workflow's facts since the last activity, which the first transaction of this activity stores. */
  readonly facts: readonly Fact[]
  /** Facts of earlier activities, which this one stores if they did not. Left out if there are none, as nearly always. */
  readonly unansweredFacts?: readonly UnansweredFacts[]
}

/** The facts of an activity that ended without an answer: it may have stored them, all at once, at the time of its input. */
export interface UnansweredFacts {
  readonly now: Millis
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
  /** All children that the call `id` started together have ended: one message contains their outcomes. */
  | { readonly kind: 'group'; readonly id: string }

export interface InlineMessage {
  readonly content: string
  readonly role: 'user' | 'assistant'
  readonly silent: boolean
}

/** A prompt that is called as a tool: one nested step, whose rows are below the call. */
export interface Frame {
  /** The call that it answers. */
  readonly callId: string
  readonly prompt: string
  /** The depth of the nesting, from 1. */
  readonly depth: number
  /** No other call of the step follows, so a refusal marks phase 6. */
  readonly last?: true
}

export interface CallModelInput extends StepInput {
  /**
   * The digest of the run's plan. Null in the first step of a run and after a handoff: the activity then takes the
   * agent's current plan.
   */
  readonly plan: string | null
  /** The digest of the plan that the workflow has; the answer contains a plan only if it is another one. */
  readonly knownPlan: string | null
  /** The trigger of the run, in its first step; null in all others. */
  readonly trigger: string | null
  /**
   * The run begins with a queued tool: the activity stores the plan and the run's row and answers `begun`, without a
   * drain or a model call.
   */
  readonly toolFirst: boolean
  /** Null for a step of the side itself. A nested step drains nothing and counts no turn. */
  readonly frame: Frame | null
  /** A caller requested that the thread continue: the step runs even without a message. */
  readonly asked: boolean
  /** False before the first step of the side's prompt, and again after a handoff: its immediate subagents start then. */
  readonly activated: boolean
  /** The number of earlier activations in the run; one of them may precede this same step. @default 0 */
  readonly activations?: number
  /** The number of earlier model calls of this same step, which found nothing to do. @default 0 */
  readonly idleCalls?: number
  /** The side's turn begins with this step. */
  readonly sideStarts: boolean
  /** The other side ended its turn without text, so a neutral silent line takes the place of its message. */
  readonly wordless: boolean
  readonly drain: readonly DrainItem[]
  /** The number of items that wait behind those of the drain. @default 0 */
  readonly waiting?: number
  /** Ids of drained items that only asked for a step, and have no message. @default none */
  readonly asking?: readonly string[]
  /** Present while the thread's row may be missing: a thread that Temporal's command line started has none. */
  readonly start: ThreadStart | null
  readonly createdAt: Millis
  /** The call was moved here from another task queue, and must not be moved again. */
  readonly moved?: true
  /** The answer for which the call waited. */
  readonly response?: RequestResponse
  /** The activity may go on by itself after its answer. Absent: it does this call only. */
  readonly ahead?: Ahead
}

/** What an activity has to know of the control state beside its input to go on by itself (`thread/ahead.ts`). */
export interface Ahead {
  /** The version of the rules by which the workflow decides; an activity whose own is another one does not go on. */
  readonly rules: number
  /** The settles of the thread so far. */
  readonly settles: number
  readonly run: AheadRun
}

/** The run before the call: every model call has it in its history, so it is short. */
export type AheadRun = readonly [
  side: Side,
  sideSteps: readonly [number, number],
  sessionTurns: number,
  /** 0: the turn starts, 1: after a turn without text; 2: it is under way, 3: it has text. */
  turn: 0 | 1 | 2 | 3,
  usage: readonly [input: number, output: number, cached: number, cost: number | null],
  rare?: {
    readonly withTool?: true
    readonly toolSteps?: number
    readonly truncatedAnswers?: number
    readonly repeatedError?: { readonly digest: string; readonly count: number }
    /** The prompt of the other side has been active, too. */
    readonly otherActive?: true
    /** The number of items whose ids the thread has made; left out: none. */
    readonly items?: number
  },
]

/** An action that an activity has done ahead of the workflow, after its own. */
export interface AheadPair {
  /** The id of its operation. */
  readonly id: string
  /** The time of its input; the answer before it was applied at the same time. */
  readonly at: Millis
  /** The answer of its activity. */
  readonly answer: { readonly type: string }
}

/** Two answers of `callModel` may have it: what the activity has done after its model call, in order. */
interface AheadAnswer {
  readonly ahead?: readonly AheadPair[]
}

export type CallModelAnswer =
  | ({
      readonly type: 'answered'
      readonly plan?: Plan
      /** The answer has text or files. */
      readonly text: boolean
      /** The text was truncated by its limit of length, and there are no calls. */
      readonly truncated?: true
      readonly calls: readonly CallRequest[]
      readonly usage: Usage
      readonly operations?: readonly ThreadOperation[]
    } & AheadAnswer)
  | { readonly type: 'begun'; readonly plan?: Plan; readonly operations?: readonly ThreadOperation[] }
  /** The run's new plan has its model on another task queue. The activity has stored nothing. */
  | { readonly type: 'moved'; readonly plan: Plan }
  /**
   * The prompt has just become active, and these calls precede its first step. Nothing is drained, and no model was
   * called.
   */
  | {
      readonly type: 'activates'
      readonly plan?: Plan
      readonly calls: readonly ImmediateCall[]
      readonly usage?: Usage
      readonly operations?: readonly ThreadOperation[]
    }
  /** Only for a nested step: its call has a result already, so no model was called. */
  | { readonly type: 'refused'; readonly result: ResultAnswer }
  | { readonly type: 'nothing_to_do'; readonly plan?: Plan; readonly operations?: readonly ThreadOperation[] }
  | {
      readonly type: 'interrupted'
      readonly plan?: Plan
      readonly usage?: Usage
      readonly operations?: readonly ThreadOperation[]
    }
  | PendingAnswer
  | (EndAnswer & AheadAnswer)
  | WaitAnswer
  | TerminatedAnswer

export interface CallRequest {
  readonly id: string
  /** A name of the plan. Any other name is text of the model, which stays in the store (T5). */
  readonly name: string
}

/** Replaces every name that the plan does not have. */
export const UNKNOWN_TOOL = '(unknown)'

export interface CallInput extends StepInput {
  readonly plan: string
  readonly callId: string
  /** The prompts that lead to the call, the active one last; empty for a tool queued from outside a step. */
  readonly promptPath: readonly string[]
  /** The depth of the nested step that made the call; 0 outside of one. */
  readonly depth: number
  /** Code or the runtime queued the call, so it runs even if the prompt does not list its tool. */
  readonly queued: boolean
  /** An earlier call of this step has handed the thread off. */
  readonly handedOff: boolean
  readonly name: string
  /** Steps of the run by side, this one included. */
  readonly sideSteps: Readonly<Record<Side, number>>
  /** The first and the last call of a step mark the phases 5 and 6. */
  readonly first: boolean
  readonly last: boolean
  /** The answer for which the call waited. */
  readonly response?: RequestResponse | null
}

export interface ResultAnswer {
  readonly type: 'result'
  readonly outcome: CallOutcome
  /** Digest of the normalised error text, by which repeated errors are counted. */
  readonly errorDigest?: string
  readonly operations?: readonly ThreadOperation[]
  /** The usage of models that were called within the call. */
  readonly usage?: Usage
  /** The call has added a message of its side to the transcript. */
  readonly text?: true
  /** The call had already ended, and nothing was stored: the facts of the input wait for the next activity. */
  readonly storedNothing?: true
}

/**
 * The kind of a tool that the plan does not list; the workflow continues as with a call of the plan. The kind is
 * `function` only if the function runs on another task queue.
 */
export interface KindAnswer {
  readonly type: 'kind'
  readonly tool: ToolPlan
}

export interface ExecuteToolInput extends CallInput {
  readonly response: RequestResponse | null
  /**
   * The call's activity has failed for good, or was completed with an invalid answer. The call's row decides the
   * result, and its code does not run (again).
   */
  readonly failed?: true
  /** An earlier activity has found the tool's task queue, which is this one: the call must not be moved again. */
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

/** The result of `agentThread`: control facts, never text. */
export interface ThreadResult {
  readonly threadId: string
  readonly outcome: 'completed' | 'failed' | 'terminated'
  readonly reason: string
}

/** The call of a subagent that starts when its prompt becomes active. The runtime makes it, not a model. */
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

/**
 * Any activity of a step may request to be called again later, under the same operation id, because of a limit of a provider
 * or of the thread's account, or because what its call has begun is at work elsewhere.
 */
export interface WaitAnswer {
  readonly type: 'wait'
  readonly until: Millis
  readonly plan?: Plan
  readonly usage?: Usage
  /**
   * `limit`: the account of the thread has used up a limit. `call`: nothing is short, and the call goes on then, for example with a look at a
   * task of its server. Absent: a provider asks for the wait.
   */
  readonly cause?: 'limit' | 'call'
  /** Nothing was stored: the facts of the input wait for the next activity. */
  readonly storedNothing?: true
}

/**
 * Any activity of a step may end with a request that `respond` answers; the workflow waits without an activity, and the
 * request's row in the store holds the decision. `next` names what then continues a call; a model call runs again under
 * the same operation id.
 */
export interface PendingAnswer {
  readonly type: 'pending'
  readonly requestId: string
  /** `approval`, `call`, …: opaque to the workflow. */
  readonly kind: string
  /** The thread's status while the request is pending. */
  readonly status: ThreadStatus
  /** After the answer: `complete` takes it as the call's result, `execute` runs the call, which reads it. */
  readonly next: 'complete' | 'execute'
  /** Then the call goes on without an answer. */
  readonly expiresAt?: Millis
  /** The answer arrived before the request and is in its row, so nothing is pending. */
  readonly answered?: true
  readonly plan?: Plan
  readonly usage?: Usage
  readonly operations?: readonly ThreadOperation[]
}

/** The answer to a request. The row of the request holds it; `approved` is only the claim of a raw update. */
export interface RequestResponse {
  readonly requestId: string
  readonly approved?: boolean
  /** The time of the request is over; an answer in its row counts nevertheless. */
  readonly expired?: true
}

/** How a call that did not end with its own activity gets its result. */

export interface CompleteCallInput extends CallInput {
  readonly by: Completion
}

/** The source of the result of a call that did not end with its own activity. */
export type Completion =
  /** All children for which the call waited have answered; several form a group. */
  | {
      readonly kind: 'children'
      readonly reports: readonly { readonly reference: string; readonly report: CallReport }[]
    }
  /** The call does not wait: its children have started, or have its message. */
  | { readonly kind: 'sent'; readonly references: readonly string[] }
  /** The nested step of a prompt tool has ended; its rows hold the outcome. */
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'response'; readonly requestId: string }
  /** The activity of another worker has ended, successfully or not; the row of the call holds the outcome. */
  | { readonly kind: 'remote' }

export type CompleteCallAnswer = ResultAnswer | PendingAnswer | WaitAnswer | EndAnswer | TerminatedAnswer

/**
 * A tool in another language is an activity of another worker, with its own type on its own task queue. Over Temporal
 * such a worker gets only the following input; arguments and results go over HTTP (T5).
 */

/** The answer of `executeTool` for such a tool: the call is checked and stored, and must now run on that task queue. */
export interface RemoteAnswer {
  readonly type: 'remote'
  readonly taskQueue: string
  readonly activity: string
  /** Milliseconds, from the moment when a worker takes it. */
  readonly timeout: number
}

/** The only argument of that activity. Its return value is ignored, because the result is in the store. */
export interface RemoteCallInput {
  readonly level: number
  readonly threadId: string
  readonly callId: string
  /** The same in every attempt. */
  readonly idempotencyKey: string
}

/** The inputs and answers of the activities that start, message and answer for children. */

export interface PrepareChildInput extends CallInput {
  /** The numbers of children that the thread has started, and of those that are open, owed or deferred. */
  readonly children: number
  readonly open: number
}

export type PrepareChildAnswer =
  | {
      readonly type: 'children'
      /** One child, or those that a fan-out starts together. */
      readonly children: readonly PreparedChild[]
      /** The call gets one answer, when all children have ended; its id is their `spawnGroupId`. */
      readonly group: boolean
      /** The call waits for their reports, at most `timeout` milliseconds. */
      readonly blocking: boolean
      readonly timeout?: number
      readonly operations?: readonly ThreadOperation[]
    }
  /** It has the operation `defer_child` if the child waits for variables. */
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
      /** The role under which the receiving side reads the message. */
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
