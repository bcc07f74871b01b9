/**
 * The control state of a thread: everything the workflow knows, and nothing that the store owns (T5).
 *
 * It owns: what runs next, queue order, counters, the calls of the step in flight with their frames and requests, owed
 * children, due times of effects, the stop flag.
 * It does not own: messages, arguments, results, files, texts of any kind; those are in the store under the ids here.
 * It is plain JSON, carried over continue-as-new, so its size is bounded (LIMITS.carriedStateBytes) and its shape has a
 * version. All functions of this folder are pure: they take a control state and give the next one.
 */
import type {
  CallOutcome,
  InlineMessage,
  PendingAnswer,
  RemoteAnswer,
  RequestResponse,
  Usage,
} from '../protocol/activities.js'
import type { ClosedChild, FailureCause, ThreadClose } from '../protocol/end-activities.js'
import type { Fact } from '../protocol/facts.js'
import type { ChildReport, ThreadStart } from '../protocol/messages.js'
import type { ToldOperation } from '../protocol/operations.js'
import type { Plan, Side, ToolPlan } from '../protocol/plan.js'
import type { LastRun, PendingItem, ScheduledItem, StopReason } from '../protocol/status.js'
import type { CallReport, PreparedChild } from '../protocol/subagent.js'

export const STATE_VERSION = 1

export interface ThreadControl {
  readonly stateVersion: number
  readonly threadId: string
  readonly start: ThreadStart
  readonly createdAt: number
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
  readonly terminating: boolean
  readonly closing: Closing | null
  readonly report: Report | null
  /** Open, owed, or both. */
  readonly children: readonly OpenChild[]
  /** Reports of children, or about calls, that are not known yet. */
  readonly earlyReports: readonly ChildReport[]
  readonly childrenInAll: number
  /** Those that closed and owed nothing, until a settle has told so. */
  readonly closed: readonly ClosedChild[]
  /** Children that wait for variables. */
  readonly deferred: readonly DeferredChild[]
  /** Groups whose call does not wait: answered once, when the last has ended. */
  readonly groups: readonly ChildGroup[]
  /** Operations on other threads, told one by one, in order. */
  readonly tells: readonly Tell[]
  /** Sides whose prompts have been active under this agent: their immediate subagents have started. */
  readonly activated: readonly Side[]
  /** Calls of the parent that this thread has taken and not answered yet. */
  readonly invocations: readonly string[]
  /** Reports made so far. */
  readonly reports: number
  readonly childChecks: number
  /** After a reset: what a recorded step has met and nobody has answered. */
  readonly late: LateMessages | null
  /** Effects that are not due yet; a due one is an item of the queue. */
  readonly effects: readonly ScheduledItem[]
  /** Effects whose activity failed for good, until a settle has told so. */
  readonly givenUp: readonly string[]
  /** What the last run was blocked for, until it is answered or a run looks again. */
  readonly request: PendingItem | null
  readonly settles: number
  readonly facts: readonly Fact[]
  readonly factsDropped: number
  readonly lastRun: LastRun | null
  /** Something was applied since the last continue-as-new: never two in a row without progress. */
  readonly progressed: boolean
}

/** One item of the inbox: everything that asks for work, in the order of acceptance (T3). */
export type QueueEntry =
  | {
      readonly kind: 'message'
      readonly id: string
      readonly role: 'user' | 'assistant'
      readonly queuedAt: number
      readonly inline?: InlineMessage
      /** The parent's call that it belongs to. */
      readonly invocation?: string
    }
  | { readonly kind: 'group'; readonly id: string; readonly queuedAt: number }
  | { readonly kind: 'report'; readonly id: string; readonly queuedAt: number }
  | {
      readonly kind: 'child_closed'
      readonly id: string
      readonly reference: string
      readonly status: string
      readonly queuedAt: number
    }
  | { readonly kind: 'tool'; readonly id: string; readonly name: string; readonly queuedAt: number }
  | { readonly kind: 'effect' | 'variables' | 'continue'; readonly id: string; readonly queuedAt: number }

export interface Run {
  readonly number: number
  readonly side: Side
  readonly trigger: string
  /** It began with a queued tool, before its first step. */
  readonly begun: boolean
  readonly steps: number
  readonly sideSteps: Readonly<Record<Side, number>>
  readonly sessionTurns: number
  readonly usage: Usage
  /** The run's plan is known: its first model call was answered. */
  readonly planned: boolean
  /** Its first model call was sent to the task queue of its model, and is answered there. */
  readonly moved?: true
  /** Prompts that became active in it, with immediate subagents; left out: none. */
  readonly activations?: number
  readonly sideStarts: boolean
  /** Whether the turn under way has text; a turn without leaves a neutral line. */
  readonly turnHasText: boolean
  readonly wordless: boolean
  /** Answers in a row that were cut off, the last one included; left out: none. */
  readonly cutAnswers?: number
  readonly repeatedError: { readonly digest: string; readonly count: number } | null
  readonly step: Step | null
  /** An activity asked to be called again then. */
  readonly waitUntil: number | null
  /** The wait is over, and the same operation goes on: its activity takes it as a retry and stores no facts. */
  readonly resumed: boolean
  /** The model call that asked for it: it is made again as it was, and nothing goes before it. */
  readonly again: ModelCall | null
  /** What that model call waits for; left out: nothing. */
  readonly pending?: CallRequest
  /** Something that clears the stop flag came, and no model call was asked to take it: a blocked end does not park it. */
  readonly revives?: true
  readonly stopRequested: boolean
  /** A stop goes on to the children that a call waits for. */
  readonly stopsChildren: boolean
  /** Its report to the parent is made. */
  readonly reported: boolean
  /** Operations of the activity that ended it without an answer; left out: none. */
  readonly unheard?: readonly string[]
  readonly ending: Ending | null
}

/** How a side's model is called. */
export interface ModelCall {
  readonly side: Side
  /** A step is made even if no message came. */
  readonly asked: boolean
  /** The run begins with a queued tool: only its plan is asked for. */
  readonly toolFirst: boolean
  /** The answer that it waited for. */
  readonly response?: CallResponse
}

export interface Step {
  readonly number: number
  readonly side: Side
  readonly text: boolean
  /** Its answer is cut off. */
  readonly cut?: true
  /** The last phase that was marked in the event log. */
  readonly phase: 4 | 5 | 6
  readonly calls: readonly Call[]
  /** No step of a side, but a tool of the inbox: it has no phases and is not judged. */
  readonly outside: boolean
  /** Its calls are those of a prompt that becomes active. */
  readonly activates?: true
  /** The agent that takes over when the step is done. */
  readonly handOff: string | null
  /** The side that acts next, whatever the step says. */
  readonly forcedTurn: Side | null
}

export interface Ending {
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'cancelled' | 'blocked'
  readonly sessionCall: string | null
  /** What a blocked run waits for. */
  readonly request?: { readonly id: string; readonly kind: string }
  /** The queued tool that was to begin the run and could not; it is in no queue any more. */
  readonly tool?: string
  /** Why an activity left no answer, where that ended the run. */
  readonly failure?: FailureCause
}

export interface Closing extends ThreadClose {
  /** Children that still have to be told; empty when the cascade is done. */
  readonly cascade: readonly string[]
  /** False again when something arrived after the closing transaction. */
  readonly settled: boolean
}

/** A report that is in the parent's store; announced once this thread's own run is settled. */
export interface Report {
  readonly number: number
  readonly kind: 'result' | 'failure' | 'notice'
  readonly messageId: string | null
  readonly invocations: readonly string[]
  /** Of a thread that closes: there is no other after it. */
  readonly closes: boolean
  /** Also true when the parent takes nothing any more. */
  readonly announced: boolean
}

/** What a run of its own answers, behind those that are recorded: its numbers go on from theirs. */
export interface LateMessages {
  readonly runs: number
  readonly settles: number
  readonly reports: number
  /** Calls of the parent that these messages belong to. */
  readonly invocations: readonly string[]
}

/** An operation on another thread. */
export interface Tell {
  readonly to: string
  readonly operation: ToldOperation
}

/** A subagent that starts once its request is answered. */
export interface DeferredChild {
  readonly requestId: string
  /** The call that asked for it. */
  readonly callId: string
  readonly child: PreparedChild
  readonly requestedAt: number
  readonly expiresAt: number
  /** The request is answered: it is to be started. */
  readonly supplied: boolean
  /** Its time is over: the store says whether the request was answered before. */
  readonly expired: boolean
}

/** Children of one call that does not wait, of which some have not ended yet. */
export interface ChildGroup {
  readonly callId: string
  readonly references: readonly string[]
}

/** A child that is open, or owed: some invocation of it is unanswered (T7). */
export interface OpenChild {
  readonly reference: string
  readonly resumable: boolean
  /** Calls that its reports have not named yet. */
  readonly invocations: readonly string[]
  /** Number of the last report that was taken. */
  readonly reports: number
  /** Its close event will reach this Temporal run; after continue-as-new there is no such event. */
  readonly observed: boolean
  readonly checks: number
  readonly nextCheckAt: number
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }

export function initialControl(threadId: string, start: ThreadStart, now: number): ThreadControl {
  return {
    stateVersion: STATE_VERSION,
    threadId,
    start,
    createdAt: now,
    registered: false,
    agent: start.agent,
    plan: null,
    queue: [],
    queueBytes: 0,
    itemsNumbered: 0,
    runs: 0,
    run: null,
    stopped: false,
    terminating: false,
    closing: null,
    report: null,
    children: [],
    earlyReports: [],
    closed: [],
    childrenInAll: 0,
    deferred: [],
    groups: [],
    tells: [],
    activated: [],
    invocations: [],
    reports: 0,
    childChecks: 0,
    late: null,
    effects: [],
    givenUp: [],
    request: null,
    settles: 0,
    facts: [],
    factsDropped: 0,
    lastRun: null,
    progressed: true,
  }
}

/** What a tool call is and waits for, from its request to its result. */

/** What a call is, whatever its state. */
export interface CalledTool {
  readonly id: string
  readonly name: string
  /** Asked for by a tool, hook or caller, and not by the model: it runs whatever the prompt lists. */
  readonly queued?: true
  /** What an activity said that the name is. */
  readonly tool?: ToolPlan
}

/**
 * A tool call: `open` → done. A prompt's: `open` → `framed` → done. A subagent's: `open` → `prepared` → `waiting` →
 * `reported` → done; one that does not wait goes from `prepared` to `reported` at once. A message to a subagent: `open` →
 * `addressed` → `waiting` → `reported` → done. One that waits for an answer: `open` → `pending` → `open` or `answered` → done, maybe several times.
 * A tool in another language: `open` → `remote` → `returned` → done.
 */
export type Call = CalledTool &
  (
    | { readonly state: 'open'; readonly response?: CallResponse }
    | { readonly state: 'framed'; readonly prompt: string; readonly calls: readonly Call[] }
    | { readonly state: 'pending'; readonly request: CallRequest }
    | { readonly state: 'answered'; readonly requestId: string }
    /** Checked and allowed: its code is an activity of another worker. */
    | { readonly state: 'remote'; readonly remote: RemoteCall }
    /** That activity has ended; what came of it is in the store. */
    | { readonly state: 'returned' }
    | {
        readonly state: 'prepared'
        /** Those that are still to be started, in order. */
        readonly starting: readonly PreparedChild[]
        readonly wait: ChildWait
      }
    /** `subagent_message`: its message is to be sent. */
    | {
        readonly state: 'addressed'
        readonly reference: string
        readonly messageId: string
        readonly role: 'user' | 'assistant'
        readonly wait: ChildWait
      }
    | { readonly state: 'waiting'; readonly wait: ChildWait }
    /** Answered: by all that it waited for, or because it does not wait. */
    | { readonly state: 'reported'; readonly wait: ChildWait }
    | { readonly state: 'done'; readonly outcome: CallOutcome }
  )

/** A call in this state. */
export type CallIn<State extends Call['state']> = Extract<Call, { readonly state: State }>

/** What a call of subagents waits for. */
export interface ChildWait {
  readonly references: readonly string[]
  readonly blocking: boolean
  readonly group: boolean
  /** Milliseconds since 1970; null: as long as it takes. */
  readonly deadline: number | null
  /** Milliseconds from the moment when all have started. */
  readonly timeout: number | null
  readonly reports: readonly { readonly reference: string; readonly report: CallReport }[]
  /** Children that were told of an interrupt, or that nobody waits for any more. */
  readonly stopped: readonly string[]
}

/** Where a call runs; `timeout` in milliseconds. */
type RemoteCall = Pick<RemoteAnswer, 'taskQueue' | 'activity' | 'timeout'>

/** What a call waits for; who may answer, and with what, is in the store. */
export interface CallRequest extends Pick<PendingAnswer, 'requestId' | 'kind' | 'status' | 'next'> {
  readonly requestedAt: number
  /** The model call of a nested step asked: the same operation goes on. */
  readonly ofModel?: true
}

export type CallResponse = RequestResponse
