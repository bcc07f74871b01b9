/**
 * Changes that the answer of any activity can make: waits, ends, failures, refused answers, usage.
 *
 * It owns: the outcomes that all activities share. It does not own: answers of a side's model call (`model-answers.ts`) and
 * of a tool call (`call-answers.ts`), and the end of a run in the store (`settling.ts`).
 * Invariants: an answer is applied once; its content is in the store (T4). An activity that ends without an answer may have
 * committed one: the settle of its run returns the operations of that commit (T9).
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
import { forgetSentFacts, hasStored, withFacts } from './facts.js'
import { applyOperations } from './operations.js'
import { endRun, isResumed, pauseRun, resumeRun, setResumed, stepOf } from './run.js'
import type { ModelCall, Run } from './run.js'
import type { Millis } from '../protocol/time.js'

/**
 * Applies an answer that asks for a later repetition of its activity; a side's model call is repeated unchanged. A step keeps
 * the plan that it began with.
 */
export function applyWait(
  control: ThreadControl,
  { plan, usage, ...wait }: WaitAnswer,
  again: ModelCall | null,
): ThreadControl {
  const { run } = control
  if (run === null) return control
  const waiting = pauseRun(addUsage(run, usage), wait, again)
  const known = stepOf(run) === null ? (plan ?? control.plan) : control.plan
  return { ...control, progressed: true, plan: known, run: waiting }
}

/** Ends the wait of the run: its time has come, or its end has made it pointless. */
export function endWait(control: ThreadControl): ThreadControl {
  return control.run === null ? control : { ...control, run: resumeRun(control.run) }
}

/** What the workflow knows as soon as an activity has answered, whatever the answer is. `sent`: the state that it got. */
export function acknowledge(
  control: ThreadControl,
  sent: ThreadControl,
  { answer, storesFacts, isOfStep }: Acknowledged,
): ThreadControl {
  const own = adoptStore(control, answer)
  const stored = storesFacts && hasStored(answer) ? forgetSentFacts(own, sent) : own
  return isOfStep ? clearResumed(stored) : stored
}

interface Acknowledged {
  readonly answer: Parameters<typeof hasStored>[0] & StoreAnswer
  /** Its input had the facts that waited. */
  readonly storesFacts: boolean
  readonly isOfStep: boolean
}

/** The activity that was repeated after a wait has answered. */
function clearResumed(control: ThreadControl): ThreadControl {
  return control.run !== null && isResumed(control.run)
    ? { ...control, run: setResumed(control.run, false) }
    : control
}

/** Applies an answer that ends the run. */
export function applyEnd(control: ThreadControl, answer: EndAnswer, now: Millis): ThreadControl {
  if (control.run === null) return control
  const { reason, outcome, request } = answer
  const ending = { reason, outcome, sessionCall: null, ...(request === undefined ? {} : { request }) }
  const run = endRun(addUsage(control.run, answer.usage), ending)
  // The run is ending already when these apply: a tool that they queue does not run.
  return applyOperations({ ...control, progressed: true, run }, answer.operations, now)
}

/** An activity ended without an answer: the run ends blocked, and the thread stays usable. */
export function applyActivityFailure(control: ThreadControl, failure: FailureCause): ThreadControl {
  const { run } = applyEnd(control, { type: 'end', reason: 'blocked', outcome: 'blocked' }, 0)
  if (run?.phase.kind !== 'ending') return control
  return { ...control, progressed: true, run: endRun(run, { ...run.phase.ending, failure }) }
}

interface RefusedAnswer {
  readonly activity: keyof typeof ACTIVITIES
  readonly problem: string
  /** The input of the activity; it names a call if the activity is that of a call. */
  readonly asked: ActivityInput & { readonly callId?: string }
}

/** Records that an activity was completed with an invalid answer, of which nothing is applied (T10). */
export function recordRefusedAnswer(
  control: ThreadControl,
  { activity, problem, asked: { callId } }: RefusedAnswer,
): ThreadControl {
  const message = `The activity ${ACTIVITIES[activity]} was completed with something that is no answer of it. ${problem}`
  const scope = callId === undefined ? undefined : { toolCallId: callId }
  return withFacts(control, fact('runtime.warning', { code: 'answer_refused', message }, scope))
}

/** Where the start names no store, the thread belongs to the store of the worker that carries out its first activity. */
function adoptStore(control: ThreadControl, { store }: StoreAnswer): ThreadControl {
  if (control.start.store !== undefined || !isStoreId(store)) return control
  return { ...control, start: { ...control.start, store } }
}

/** Applies the termination that an activity has found in the thread's row. */
export function applyTermination(control: ThreadControl): ThreadControl {
  return { ...control, terminating: true, registered: true, progressed: true }
}

/** Ends the run if the calls of its step exceed their share of the carried state; the end of the run gives them results. */
export function enforceStepBudget(control: ThreadControl): ThreadControl {
  const { run } = control
  if (run?.phase.kind !== 'stepping' || utf8Length(JSON.stringify(run.phase.step.calls)) <= LIMITS.stepBytes)
    return control
  return { ...control, run: endRun(run, { reason: 'hard_cap', outcome: 'failed', sessionCall: null }) }
}

/** Adds the usage of a call to its run; an unknown price makes the sum unknown. */
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
  readonly idleCalls?: number
}

/** The operations that an activity with this input may have begun or finished. */
export function listOperations(name: string, asked: OperationInput): readonly string[] {
  const { run, step, frame, callId } = asked
  if (name === 'completeCall' && callId !== undefined) return [resultOperationId(callId)]
  if (callId !== undefined) return [callId]
  if (name !== 'callModel' || step === undefined) return []
  // The refusal of a frame is stored under the id of its call.
  if (frame != null) return [frame.callId, modelOperationId({ run, step, frame })]
  if (asked.toolFirst === true) return [beginOperationId(run)]
  const model = modelOperationId({ run, step, idleCalls: asked.idleCalls })
  return asked.activated === false ? [activationId({ run, step }, asked.activations), model] : [model]
}

/**
 * Remembers operations whose outcome this workflow does not know: the settle of the run returns what they committed. `from`: the
 * step of an activity that may have gone on by itself.
 */
export function markUnacknowledged(
  control: ThreadControl,
  operations: readonly string[],
  from?: number,
): ThreadControl {
  if (control.run === null || (operations.length === 0 && from === undefined)) return control
  const { unacknowledgedStep: _before, ...run } = control.run
  const unacknowledgedStep = from === undefined ? {} : { unacknowledgedStep: from }
  return { ...control, run: { ...run, unacknowledged: operations, ...unacknowledgedStep } }
}

/** Applies what unacknowledged operations have committed. A closing thread applies only the outbound signals (T8). */
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
  /** Ids of the operations, from the run that was finalized. */
  readonly unacknowledged?: readonly string[] | undefined
  readonly operations?: readonly ThreadOperation[] | undefined
}
