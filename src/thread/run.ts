/**
 * A run: its counters, its turn, and its phase. One step and one call are in flight at a time (T1), because the phase has
 * one place for each.
 *
 * It owns: what the run does now (`RunPhase`), the step in flight with the tree of its calls, what a stop asks of it, and
 * how it ends. It does not own: the queue, the children and the plan of the thread (`control.ts`), and what follows a step
 * (`stop-conditions.ts`).
 * Invariants: a run leaves `ending` only by its settle. That phase keeps the work that was under way, which the settle closes.
 */
import type {
  CallOutcome,
  PendingAnswer,
  RemoteAnswer,
  RequestResponse,
  Usage,
  WaitAnswer,
} from '../protocol/activities.js'
import type { FailureCause } from '../protocol/end-activities.js'
import type { Side, ToolPlan } from '../protocol/plan.js'
import type { StopReason, CallReport, PreparedChild } from '../protocol/status.js'
import type { Millis } from '../protocol/time.js'

export interface Run {
  readonly number: number
  readonly side: Side
  /** The kind of item that started it. */
  readonly trigger: string
  /** How it began in the store. */
  readonly began: 'not_yet' | 'with_tool' | 'with_step'
  readonly steps: number
  readonly sideSteps: Readonly<Record<Side, number>>
  readonly sessionTurns: number
  readonly usage: Usage
  /** Its first model call gives the plan; `moved`: that call is made again on the task queue of the plan's model. */
  readonly planning: 'unknown' | 'moved' | 'known'
  /** Prompts that became active in it, with immediate subagents; left out: none. */
  readonly activations?: number
  /** Model calls of the next step that found nothing to do: each is an operation of its own. Left out: none. */
  readonly idleCalls?: number
  readonly turn: Turn
  /** Steps with tool calls, counted only where the plan has a cap for them; left out: none. */
  readonly toolSteps?: number
  /** Truncated answers in a row, the last one included; left out: none. */
  readonly truncatedAnswers?: number
  readonly repeatedError: { readonly digest: string; readonly count: number } | null
  /** An item that clears the stop flag came, and no model call has drained it: a blocked end does not park the thread. */
  readonly revives?: true
  /** It is to end; `run_and_children`: so are the children that a call waits for. */
  readonly stop: 'run' | 'run_and_children' | null
  /** A message that goes before everything else is the cause of that. */
  readonly preempted?: true
  /** Items that the model call in flight takes; left out: none. */
  readonly taking?: readonly string[]
  /** Operations of the activity that ended without an answer; left out: none. */
  readonly unacknowledged?: readonly string[]
  /** Operations of this step and of later ones may be unacknowledged, too: an activity may have gone on by itself. */
  readonly unacknowledgedStep?: number
  /** An activity has done several actions of it, and may have done more than it could answer. */
  readonly wentAhead?: true
  readonly phase: RunPhase
}

/** The turn of the side that acts. */
export type Turn =
  /** None of its steps has been judged; `wordless`: the turn before it left no text, and a neutral line stands for it. */
  | { readonly kind: 'starting'; readonly wordless: boolean }
  | { readonly kind: 'under_way'; readonly hasText: boolean }

/**
 * The phases of a run: `between_steps` -> `stepping` -> `between_steps`, and from each of them -> `waiting` and back. From all
 * of them -> `ending`. A model call of a side goes `between_steps` -> `pending` -> `between_steps`.
 */
export type RunPhase =
  | Work
  /** An activity is to be repeated at a time that it gave. */
  | ({ readonly kind: 'waiting'; readonly work: Work } & Wait)
  /** A side's model call waits for an answer from outside, and is made again with it. */
  | { readonly kind: 'pending'; readonly call: ModelCall; readonly request: CallRequest }
  | RunEnding

/** `resumed`: a wait is over, and the same operation goes on: its activity takes it as a retry and stores no facts. */
export type Work =
  /** `call`: a model call that is made again as it was, and nothing goes before it. */
  | { readonly kind: 'between_steps'; readonly call: ModelCall | null; readonly resumed: boolean }
  | { readonly kind: 'stepping'; readonly step: Step; readonly resumed: boolean }

/** Until when, and what is short, if anything is. */
type Wait = Pick<WaitAnswer, 'until' | 'cause'>

export interface RunEnding {
  readonly kind: 'ending'
  readonly ending: Ending
  /** A stop or terminate is the cause, and not the run itself: the turn under way is not over yet. */
  readonly isInterrupted: boolean
  /** The work that was under way. */
  readonly work: Work
  /** Its report to the parent is made. */
  readonly reported: boolean
}

/** How a side's model is called. */
export interface ModelCall {
  readonly side: Side
  /** A step is made even if no message came. */
  readonly asked: boolean
  /** The run begins with a queued tool: the call gets the plan and calls no model. */
  readonly toolFirst: boolean
  /** The response that it waited for. */
  readonly response?: CallResponse
}

export interface Step {
  readonly number: number
  readonly side: Side
  readonly text: boolean
  /** Its answer is truncated. */
  readonly truncated?: true
  /** The last phase that was marked in the event log. */
  readonly phase: 4 | 5 | 6
  readonly calls: readonly Call[]
  /** A tool of the inbox instead of a step of a side: it has no phases and is not judged. */
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
  /** The request that blocks the run. */
  readonly request?: { readonly id: string; readonly kind: string }
  /** The queued tool that was to begin the run and could not; it is in no queue any more. */
  readonly tool?: string
  /** Why an activity left no answer, where that ended the run. */
  readonly failure?: FailureCause
}

const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 }

/** The fields of a call in every state. */
interface CallBase {
  readonly id: string
  readonly name: string
  /** Made by a tool, hook or caller, and not by the model: it runs whatever the prompt lists. */
  readonly queued?: true
  /** The kind of tool that an activity found for the name. */
  readonly tool?: ToolPlan
}

/**
 * A tool call: `open` → done. A prompt's: `open` → `framed` → done. A subagent's: `open` → `prepared` → `waiting` →
 * `reported` → done; one that does not wait goes from `prepared` to `reported` at once. A message to a subagent: `open` →
 * `addressed` → `waiting` → `reported` → done. One that waits for an answer: `open` → `pending` → `open` or `answered` → done, maybe several times.
 * A tool in another language: `open` → `remote` → `returned` → done.
 */
export type Call = CallBase &
  (
    | { readonly state: 'open'; readonly response?: CallResponse }
    | { readonly state: 'framed'; readonly prompt: string; readonly calls: readonly Call[] }
    | { readonly state: 'pending'; readonly request: CallRequest }
    | { readonly state: 'answered'; readonly requestId: string }
    /** Checked and allowed: its code is an activity of another worker. */
    | { readonly state: 'remote'; readonly remote: RemoteCall }
    /** That activity has ended; its outcome is in the store. */
    | { readonly state: 'returned' }
    | {
        readonly state: 'prepared'
        /** Children that are still to be started, in order. */
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

/** The wait of a call for its subagents. */
export interface ChildWait {
  readonly references: readonly string[]
  readonly blocking: boolean
  readonly group: boolean
  /** Milliseconds since 1970; null: as long as it takes. */
  readonly deadline: Millis | null
  /** Milliseconds from the moment when all have started. */
  readonly timeout: number | null
  readonly reports: readonly { readonly reference: string; readonly report: CallReport }[]
  /** Children to which the stop was forwarded, or that timed out and need no cancellation any more. */
  readonly stopped: readonly string[]
}

/** Where a call runs; `timeout` in milliseconds. */
type RemoteCall = Pick<RemoteAnswer, 'taskQueue' | 'activity' | 'timeout'>

/** A call to be worked at, and where it is. */
export interface CallWork {
  readonly run: Run
  readonly step: Step
  readonly call: Call
  /** The prompts that lead to it, the active one last; none for a tool of the inbox. */
  readonly promptPath: readonly string[]
  readonly depth: number
  /** The kind of tool that has the name, if the plan or an activity knows it. */
  readonly tool: ToolPlan | undefined
}

/** The request that a call waits for; who may respond, and with what, is in the store. */
export interface CallRequest extends Pick<
  PendingAnswer,
  'requestId' | 'kind' | 'status' | 'next' | 'expiresAt'
> {
  readonly requestedAt: Millis
  /** The model call of a nested step made the request: the same operation goes on. */
  readonly ofModel?: true
}

export type CallResponse = RequestResponse

const BETWEEN_STEPS: Work = { kind: 'between_steps', call: null, resumed: false }

/** The next run of a thread, with fresh counters. */
export function createRun(given: Pick<Run, 'number' | 'trigger' | 'stop'>): Run {
  return {
    ...given,
    side: 'a',
    began: 'not_yet',
    steps: 0,
    sideSteps: { a: 0, b: 0 },
    sessionTurns: 0,
    usage: NO_USAGE,
    planning: 'unknown',
    turn: { kind: 'starting', wordless: false },
    repeatedError: null,
    phase: BETWEEN_STEPS,
  }
}

/** The work of the run, also while it waits or ends. */
export function workOf({ phase }: Run): Work {
  switch (phase.kind) {
    case 'between_steps':
    case 'stepping':
      return phase
    case 'pending':
      return { kind: 'between_steps', call: phase.call, resumed: false }
    case 'waiting':
    case 'ending':
      return phase.work
  }
}

/** The step in flight, also while the run waits or ends. */
export function stepOf(run: Run | null): Step | null {
  if (run === null) return null
  const work = workOf(run)
  return work.kind === 'stepping' ? work.step : null
}

/** Replaces the work of the run; a waiting or ending run stays in its phase. */
function withWork(run: Run, work: Work): Run {
  const { phase } = run
  switch (phase.kind) {
    case 'between_steps':
    case 'stepping':
    case 'pending':
      return { ...run, phase: work }
    case 'waiting':
    case 'ending':
      return { ...run, phase: { ...phase, work } }
  }
}

/** Changes the step in flight, if there is one. */
export function changeStepOf(run: Run, change: (step: Step) => Step): Run {
  const work = workOf(run)
  return work.kind === 'stepping' ? withWork(run, { ...work, step: change(work.step) }) : run
}

/** A step begins. */
export function beginStep(run: Run, step: Step): Run {
  return withWork(run, { kind: 'stepping', step, resumed: false })
}

/** The run goes on between two steps, and repeats this model call, if there is one. */
export function leaveStep(run: Run, call: ModelCall | null = null): Run {
  return withWork(run, { kind: 'between_steps', call, resumed: false })
}

/** The run ends; its work stays, for the settle closes it. */
export function endRun(run: Run, ending: Ending, isInterrupted = false): Run {
  const reported = run.phase.kind === 'ending' && run.phase.reported
  return { ...run, phase: { kind: 'ending', ending, isInterrupted, work: workOf(run), reported } }
}

/** The run waits until then, and repeats an activity: a model call unchanged, or the call of the step in flight. */
export function pauseRun(run: Run, { until, cause }: Wait, call: ModelCall | null): Run {
  const work = workOf(run)
  const paused: Work = work.kind === 'stepping' ? work : { kind: 'between_steps', call, resumed: false }
  return run.phase.kind === 'ending'
    ? withWork(run, paused)
    : { ...run, phase: { kind: 'waiting', until, ...(cause !== undefined && { cause }), work: paused } }
}

/** A side's model call waits for a response from outside. */
export function awaitAnswer(run: Run, call: ModelCall, request: CallRequest): Run {
  return run.phase.kind === 'ending'
    ? leaveStep(run, call)
    : { ...run, phase: { kind: 'pending', call, request } }
}

/** Its model call was answered, and is not repeated. */
export function forgetCall(run: Run): Run {
  const work = workOf(run)
  return work.kind === 'between_steps' && work.call !== null ? withWork(run, { ...work, call: null }) : run
}

/** Whether the operation that goes on after a wait has not answered yet. */
export function isResumed(run: Run): boolean {
  return workOf(run).resumed
}

export function setResumed(run: Run, resumed: boolean): Run {
  return withWork(run, { ...workOf(run), resumed })
}

/** Whether the report of a run that ends is made. */
export function isReported({ phase }: Run): boolean {
  return phase.kind === 'ending' && phase.reported
}

export function markReported(run: Run): Run {
  return run.phase.kind === 'ending' ? { ...run, phase: { ...run.phase, reported: true } } : run
}

/** The wait is over: the same operation goes on. */
export function resumeRun(run: Run): Run {
  const { phase } = run
  return phase.kind === 'waiting' ? { ...run, phase: { ...phase.work, resumed: true } } : run
}

/** The next turn of the run has not begun yet. */
export function restartTurn(turn: Turn): Turn {
  return turn.kind === 'starting' ? turn : { kind: 'starting', wordless: false }
}

/** The ending by a terminate, also of a thread that closes without a run. */
export const TERMINATED: Ending = { reason: 'terminated', outcome: 'cancelled', sessionCall: null }
const STOPPED: Ending = { reason: 'stopped', outcome: 'cancelled', sessionCall: null }
const PREEMPTED: Ending = { reason: 'preempted', outcome: 'cancelled', sessionCall: null }

/** Why the run must end now, or null. Its own ending comes first, then a terminate, then a stop. */
export function endingOf({
  run,
  terminating,
}: {
  readonly run: Run | null
  readonly terminating: boolean
}): Ending | null {
  if (run === null) return null
  const { phase } = run
  if (phase.kind === 'ending' && !(phase.isInterrupted && terminating)) return phase.ending
  if (terminating) return TERMINATED
  if (run.stop === null) return null
  return run.preempted === true ? PREEMPTED : STOPPED
}

/** A message that goes before everything else ends the run and the children that a call waits for, unless it ends already. */
export function preempt(run: Run): Run {
  const { phase, stop } = run
  if (phase.kind === 'ending' && !phase.isInterrupted) return run
  return { ...run, stop: stop ?? 'run_and_children', preempted: true }
}

/** Whether its settle comes next, unless a terminate does. */
export function isEnding({ phase, stop }: Run): boolean {
  return phase.kind === 'ending' || stop !== null
}
