import type {
  CheckChildrenAnswer,
  CheckChildrenInput,
  DeliverReportAnswer,
  DeliverReportInput,
  ExpireChildAnswer,
  ExpireChildInput,
  SettleAnswer,
  SettleInput,
} from './end-activities.js'
import type {
  ImmediateCall,
  PrepareChildAnswer,
  PrepareChildInput,
  PrepareMessageAnswer,
  PrepareMessageInput,
} from './child-activities.js'
import type { CompleteCallAnswer, CompleteCallInput } from './complete-call.js'
import type { Fact } from './facts.js'
import type { ThreadOperation } from './operations.js'
import type { Plan, Side, ToolPlan } from './plan.js'
import type { RemoteAnswer } from './remote-call.js'
import type { ThreadStart } from './messages.js'
import type {
  EndAnswer,
  PendingAnswer,
  RequestResponse,
  TerminatedAnswer,
  WaitAnswer,
} from './step-answers.js'

export type {
  EndAnswer,
  PendingAnswer,
  RequestResponse,
  TerminatedAnswer,
  WaitAnswer,
} from './step-answers.js'

/** The protocol level that this code speaks; a worker that does not know an input's level does not run it (T11). */
export const LEVEL = 1

/** Activity names are wire format. */
export const ACTIVITIES = {
  callModel: 'thread.callModel',
  executeTool: 'thread.executeTool',
  prepareChild: 'thread.prepareChild',
  prepareMessage: 'thread.prepareMessage',
  completeCall: 'thread.completeCall',
  deliverReport: 'thread.deliverReport',
  checkChildren: 'thread.checkChildren',
  expireChild: 'thread.expireChild',
  runEffect: 'thread.runEffect',
  settle: 'thread.settle',
} as const

/** In every activity input. */
export interface ActivityInput {
  readonly level: number
  readonly threadId: string
  /** The thread's store: workers of others refuse it. Left out until an answer (`StoreAnswer`) says it, if the start did not. */
  readonly store?: string
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
  /** Somebody asked to go on: a step is made even if no message came. */
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
  readonly createdAt: number
  /** It comes from another task queue: it is answered where it is. */
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
      /** The text is cut off by its limit of length, and there are no calls. */
      readonly cut?: true
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

/** What became of a call; `unknown` is what an interrupted side effect is. */
export type CallOutcome = 'succeeded' | 'failed' | 'denied' | 'interrupted' | 'cancelled' | 'unknown'

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
  /** It was over before, and nothing was stored: the facts that came along wait for the next activity. */
  readonly untold?: true
}

/** What the name is: the workflow goes on with it as with a call of the plan. A function only if it runs elsewhere. */
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
  /** An activity said on which task queue the name runs: it runs where it is. */
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

/** The activities as the workflow calls them, by their short names. */
export interface ThreadActivities {
  callModel(input: CallModelInput): Promise<CallModelAnswer>
  executeTool(input: ExecuteToolInput): Promise<ExecuteToolAnswer>
  prepareChild(input: PrepareChildInput): Promise<PrepareChildAnswer>
  prepareMessage(input: PrepareMessageInput): Promise<PrepareMessageAnswer>
  completeCall(input: CompleteCallInput): Promise<CompleteCallAnswer>
  deliverReport(input: DeliverReportInput): Promise<DeliverReportAnswer>
  checkChildren(input: CheckChildrenInput): Promise<CheckChildrenAnswer>
  expireChild(input: ExpireChildInput): Promise<ExpireChildAnswer>
  runEffect(input: RunEffectInput): Promise<RunEffectAnswer>
  settle(input: SettleInput): Promise<SettleAnswer>
}
