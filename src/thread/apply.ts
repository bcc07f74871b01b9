/**
 * What the answer of any activity changes: waits, ends, failures, refused answers, usage.
 *
 * It owns: the outcomes that all activities share. It does not own: answers of a side's model call (`model-answers.ts`) and
 * of a tool call (`call-answers.ts`), and the end of a run in the store (`settling.ts`).
 * Invariants: an answer is applied once; the store holds what it stands for (T4). An activity that ends without an answer may
 * have committed one: the settle of its run returns what it did to its thread (T9).
 */
import type { ActivityInput, EndAnswer, Frame, Usage, WaitAnswer } from '../protocol/activities.js'
import { ACTIVITIES } from '../protocol/answer-problem.js'
import type { FailureCause } from '../protocol/end-activities.js'
import { fact } from '../protocol/facts.js'
import {
  activationId,
  beginOperationId,
  isStoreId,
  modelOperationId,
  resultOperationId,
} from '../protocol/ids.js'
import type { StoreAnswer } from '../protocol/ids.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { utf8Length } from '../protocol/values.js'
import { deferChildren } from './children.js'
import type { ThreadControl } from './control.js'
import { withFacts } from './facts.js'
import { applyOperations } from './operations.js'
import { endRun, isResumed, pauseRun, resumeRun, setResumed, stepOf } from './run.js'
import type { ModelCall, Run } from './run.js'
import type { Millis } from '../protocol/time.js'

/**
 * An activity asked to be called again later; a side's model call is made again as it was. A step works by the plan that it
 * began with.
 */
export function applyWait(
  control: ThreadControl,
  { until, plan, usage }: WaitAnswer,
  again: ModelCall | null,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  const waiting = pauseRun(addUsage(run, usage), until, again)
  const known = stepOf(run) === null ? (plan ?? control.plan) : control.plan
  return { ...control, progressed: true, plan: known, run: waiting }
}

/** The time has come, or nobody waits for it any more. */
export function endWait(control: ThreadControl): ThreadControl {
  return control.run === null ? control : { ...control, run: resumeRun(control.run) }
}

/** The activity that was called again has answered. */
export function clearResumed(control: ThreadControl): ThreadControl {
  return control.run !== null && isResumed(control.run)
    ? { ...control, run: setResumed(control.run, false) }
    : control
}

/** An activity ended the run. */
export function applyEnd(control: ThreadControl, answer: EndAnswer, now: Millis): ThreadControl {
  if (control.run === null) return control
  const { reason, outcome, request } = answer
  const ending = { reason, outcome, sessionCall: null, ...(request === undefined ? {} : { request }) }
  const run = endRun(addUsage(control.run, answer.usage), ending)
  // They meet a run that ends: a tool that they queue runs no more.
  return applyOperations({ ...control, progressed: true, run }, answer.operations, now)
}

/** An activity left no answer: the run ends blocked, the thread stays usable. */
export function applyActivityFailure(control: ThreadControl, failure: FailureCause): ThreadControl {
  const { run } = applyEnd(control, { type: 'end', reason: 'blocked', outcome: 'blocked' }, 0)
  if (run?.phase.kind !== 'ending') return control
  return { ...control, progressed: true, run: endRun(run, { ...run.phase.ending, failure }) }
}

interface RefusedAnswer {
  readonly activity: keyof typeof ACTIVITIES
  readonly problem: string
  /** The call that it was asked for, if it was. */
  readonly asked: ActivityInput & { readonly callId?: string }
}

/** An activity was completed with something that is no answer of it: recorded, and nothing of it is applied (T10). */
export function recordRefusedAnswer(
  control: ThreadControl,
  { activity, problem, asked: { callId } }: RefusedAnswer,
): ThreadControl {
  const message = `The activity ${ACTIVITIES[activity]} was completed with something that is no answer of it. ${problem}`
  const scope = callId === undefined ? undefined : { toolCallId: callId }
  return withFacts(control, fact('runtime.warning', { code: 'answer_refused', message }, scope))
}

/** The start named no store: the thread belongs to that of the worker which has carried out its first activity. */
export function adoptStore(control: ThreadControl, { store }: StoreAnswer): ThreadControl {
  if (control.start.store !== undefined || !isStoreId(store)) return control
  return { ...control, start: { ...control.start, store } }
}

/** An activity found the thread's row terminated. */
export function applyTermination(control: ThreadControl): ThreadControl {
  return { ...control, terminating: true, registered: true, progressed: true }
}

/** A step whose calls take more than their share of the carried state ends its run, which gives them their results. */
export function enforceStepBudget(control: ThreadControl): ThreadControl {
  const { run } = control
  if (run?.phase.kind !== 'stepping' || utf8Length(JSON.stringify(run.phase.step.calls)) <= LIMITS.stepBytes)
    return control
  return { ...control, run: endRun(run, { reason: 'hard_cap', outcome: 'failed', sessionCall: null }) }
}

/** The run with what a call used; an unknown price makes the sum unknown. */
export function addUsage(run: Run, usage: Usage | undefined): Run {
  return usage === undefined ? run : { ...run, usage: sum(run.usage, usage) }
}

function sum(left: Usage, right: Usage): Usage {
  return {
    inputTokens: left.inputTokens + right.inputTokens,
    outputTokens: left.outputTokens + right.outputTokens,
    cachedInputTokens: left.cachedInputTokens + right.cachedInputTokens,
    cost: left.cost === null || right.cost === null ? null : left.cost + right.cost,
  }
}

interface OperationInput {
  readonly run: number
  readonly step?: number
  readonly frame?: Frame | null
  readonly callId?: string
  readonly toolFirst?: boolean
  readonly activated?: boolean
  readonly activations?: number
}

/** The operations that an activity with this input may have begun or finished. */
export function listOperations(name: string, asked: OperationInput): readonly string[] {
  const { run, step, frame, callId } = asked
  if (name === 'completeCall' && callId !== undefined) return [resultOperationId(callId)]
  if (callId !== undefined) return [callId]
  if (name !== 'callModel' || step === undefined) return []
  // A frame is refused under the id of its call.
  if (frame != null) return [frame.callId, modelOperationId(run, step, frame.callId)]
  if (asked.toolFirst === true) return [beginOperationId(run)]
  const model = modelOperationId(run, step)
  return asked.activated === false ? [activationId({ run, step }, asked.activations), model] : [model]
}

/** Nobody heard what came of these. */
export function markUnacknowledged(control: ThreadControl, operations: readonly string[]): ThreadControl {
  if (control.run === null || operations.length === 0) return control
  return { ...control, run: { ...control.run, unacknowledged: operations } }
}

/** What was committed all the same happens now. A thread that closes does nothing more, but others are told (T8). */
export function applyUnacknowledged(
  control: ThreadControl,
  { unacknowledged = [], operations = [] }: Unacknowledged,
  now: Millis,
): ThreadControl {
  if (operations.length === 0) return control
  if (control.closing !== null)
    return applyOperations(
      control,
      operations.filter(({ kind }) => kind === 'signal_thread'),
      now,
    )
  const [callId] = unacknowledged
  const deferring = callId === undefined ? control : deferChildren(control, callId, operations, now)
  return applyOperations(deferring, operations, now)
}

interface Unacknowledged {
  /** Of the run that was settled. */
  readonly unacknowledged?: readonly string[] | undefined
  readonly operations?: readonly ThreadOperation[] | undefined
}
