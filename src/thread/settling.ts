/**
 * The end of a run and of a thread in the store.
 *
 * It owns: the input and the answer of a settle, the last facts of a step or turn that is interrupted, the results of its
 * calls, and what is refused when a thread closes. It does not own: why a run ends (`run.ts`, `stop-conditions.ts`).
 * Invariant: before the thread closes, its last events are written, its open calls closed, and its queued items refused (T8).
 */
import type { ActivityInput } from '../protocol/activities.js'
import type { RunEnd, SettleAnswer, SettleInput, ThreadClose } from '../protocol/end-activities.js'
import { fact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { actualSide } from '../protocol/plan.js'
import type { PendingItem } from '../protocol/status.js'
import { applyTermination, applyUnacknowledged, markUnacknowledged } from './apply.js'
import { listRemainingPhases, switchAgent, sideCompletedFact, withFacts, withQueueChange } from './facts.js'
import { listCalls, changeStep } from './calls.js'
import { interruptWait } from './child-calls.js'
import { forgetClosedChildren, listClosedChildren, listOpenChildren } from './children.js'
import type { Closing, ThreadControl } from './control.js'
import { looksAgain, removeItems, withInvocations } from './inbox.js'
import { forgetGivenUp } from './operations.js'
import { stepOf, workOf } from './run.js'
import type { Ending, Run } from './run.js'
import { snapshotOf } from './snapshot.js'
import type { Millis } from '../protocol/time.js'

/**
 * Before a run is finalized: an interrupted step or turn gets its last events. Reports that a call has and has not returned
 * become items, or this thread would lose them (T7).
 */
export function interruptStep(given: ThreadControl, ending: Ending | null, now: Millis): ThreadControl {
  if (given.run === null || ending === null) return given
  const control = suspectWorkAhead(given, given.run)
  const run = control.run ?? given.run
  const step = stepOf(run)
  if (step === null || step.outside)
    return interruptCalls(interruptTurn(interruptActivation(control, ending), run, ending), now)
  const { reason } = ending
  const scope = { runId: runIdOf(run.number), stepId: stepIdOf(run.number, step.number) }
  const completed = fact('step.completed', { step: step.number, reason }, scope)
  const turn = sideCompletedFact({ runId: scope.runId }, step.side, reason)
  const facts = [...listRemainingPhases(step, scope), completed, turn]
  return interruptCalls(withFacts(control, ...facts), now)
}

/**
 * An activity that went on by itself and was interrupted may have done more than its answer says: the open calls, and the steps
 * behind them.
 */
function suspectWorkAhead(control: ThreadControl, run: Run): ThreadControl {
  if (run.wentAhead !== true || run.unacknowledged !== undefined || !isCut(control, run)) return control
  const step = stepOf(run)
  const calls = step === null || step.outside ? [] : step.calls
  const open = calls.filter((call) => call.state === 'open' && call.response === undefined)
  return markUnacknowledged(
    control,
    open.map(({ id }) => id),
    run.steps + 1,
  )
}

function isCut({ terminating }: ThreadControl, { stop, phase }: Run): boolean {
  return terminating || stop !== null || (phase.kind === 'ending' && phase.isInterrupted)
}

/** If a stop came before any immediate subagent of the activation began, they start with the next run. */
function interruptActivation(control: ThreadControl, { reason }: Ending): ThreadControl {
  const step = stepOf(control.run)
  const isUntouched = step?.activates === true && step.calls.every(({ state }) => state === 'open')
  if ((reason !== 'stopped' && reason !== 'preempted') || !isUntouched) return control
  return { ...control, activated: control.activated.filter((side) => side !== step.side) }
}

/** Adds the end of an interrupted turn. A judged turn has its end already; the drain of a waiting model call has begun its turn. */
function interruptTurn(control: ThreadControl, run: Run, { reason }: Ending): ThreadControl {
  const scope = { runId: runIdOf(run.number) }
  const work = workOf(run)
  const call = work.kind === 'between_steps' ? work.call : null
  if (call !== null && !call.toolFirst) {
    const side = control.plan === null ? call.side : actualSide(control.plan, call.side)
    return withFacts(control, sideCompletedFact(scope, side, reason))
  }
  const isInterrupted = run.phase.kind !== 'ending' || run.phase.isInterrupted || work.kind === 'stepping'
  return isInterrupted && run.turn.kind === 'under_way'
    ? withFacts(control, sideCompletedFact(scope, run.side, reason))
    : control
}

/** Interrupts the calls of the step. A handoff that they requested still happens. */
function interruptCalls(control: ThreadControl, now: Millis): ThreadControl {
  const step = stepOf(control.run)
  if (step === null) return control
  const waited = listCalls(step.calls).reduce((next, call) => interruptWait(next, call, now), control)
  const interrupted = changeStep(waited, (current) => ({ ...current, calls: [], phase: 6, handOff: null }))
  return step.handOff === null ? interrupted : switchAgent(interrupted, step.handOff, 'a')
}

/** What is to be stored: the end of the run, that of the thread, both, or neither. */
export interface Ends {
  readonly ending: Ending | null
  readonly close: ThreadClose | null
}

interface Settling extends Ends {
  /** The result of `listInterruptedTools` before `interruptStep`. */
  readonly tools: readonly string[]
}

export function settleInput(
  control: ThreadControl,
  { ending, close, tools }: Settling,
  now: Millis,
): Omit<SettleInput, keyof ActivityInput> {
  const after = applySettle(control, { ending, close, queued: control.queue.length }, now)
  const { givenUp, run } = control
  const closed = listClosedChildren(control)
  const { unacknowledged, unacknowledgedStep } = (ending === null ? null : run) ?? {}
  return {
    settle: control.settles + 1,
    end: ending === null || run === null ? null : runEnd(run, ending, tools),
    close: close === null ? null : { outcome: close.outcome, reason: close.reason },
    snapshot: snapshotOf(after, { now, since: now }),
    ...(after.activated.length > 0 && { activeSides: after.activated }),
    ...(givenUp.length > 0 && { givenUp }),
    ...(closed.length > 0 && { closed }),
    ...(unacknowledged !== undefined && { unacknowledged }),
    ...(unacknowledgedStep !== undefined && { unacknowledgedStep }),
    start: control.registered ? null : control.start,
    createdAt: control.createdAt,
  }
}

function runEnd(run: Run, ending: Ending, tools: readonly string[]): RunEnd {
  const { reason, outcome, sessionCall, failure } = ending
  return {
    ...{ reason, outcome, steps: run.steps, usage: run.usage, sessionCall, tools },
    ...(run.steps === 0 && { trigger: run.trigger }),
    ...(failure !== undefined && { failure }),
  }
}

/** The activity of this settle has answered; `sent`: the state that it got. */
export function applySettled(
  control: ThreadControl,
  { sent, ...ends }: Ends & { readonly sent: ThreadControl },
  answer: SettleAnswer | null,
  now: Millis,
): ThreadControl {
  const { ending, close } = ends
  const unacknowledged = ending === null ? undefined : sent.run?.unacknowledged
  const reported = answer === null ? control : forgetGivenUp(control, sent.givenUp)
  const known = forgetClosedChildren(reported, listClosedChildren(sent))
  const { reason, steps } = answer?.ended ?? {}
  const stored = ending === null || reason === undefined ? ending : { ...ending, reason }
  const settled = applySettle(known, { ending: stored, close, steps, queued: sent.queue.length }, now)
  if (answer === null) return settled
  const { operations, terminated } = answer
  const returned = applyUnacknowledged(settled, { unacknowledged, operations }, now)
  return terminated === true ? applyTermination(returned) : returned
}

/** Tools that left the queue and will not run: only the end of their run can give them a result. */
export function listInterruptedTools({ run }: ThreadControl, ending: Ending | null): readonly string[] {
  const skipped = ending?.tool === undefined ? [] : [ending.tool]
  const step = stepOf(run)
  const calls = step?.outside === true ? step.calls : []
  return [...skipped, ...calls.flatMap(({ id, state }) => (state === 'done' ? [] : [id]))]
}

interface Settle extends Ends {
  /** As the store has it. @default that of the run */
  readonly steps?: number | undefined
  /** Items that waited when the closing transaction was scheduled. */
  readonly queued: number
}

/**
 * The run is finalized in the store, and with `close` the thread takes no more items. A settle with neither has only stored
 * given up effects and closed children.
 */
export function applySettle(control: ThreadControl, settle: Settle, now: Millis): ThreadControl {
  if (settle.ending === null && settle.close === null)
    return { ...control, settles: control.settles + 1, progressed: true, registered: true }
  const { run } = control
  const lastRun =
    run === null || settle.ending === null
      ? control.lastRun
      : {
          runId: runIdOf(run.number),
          reason: settle.ending.reason,
          steps: settle.steps ?? run.steps,
          endedAt: now,
        }
  const request = settle.close === null ? (requestOf(settle, now) ?? control.request) : null
  const going = request === null && settle.close === null ? dropVariables(control) : control
  // A run that failed for a day, or lacks a variable, is not tried again at once: the thread is parked as by a stop.
  const { ending } = settle
  const stopped = control.stopped || (ending?.outcome === 'blocked' && !goesOn(control, ending))
  const next = {
    ...going,
    stopped,
    request,
    run: null,
    lastRun,
    settles: control.settles + 1,
    progressed: true,
    registered: true,
  }
  if (settle.close === null) return next
  const { outcome, reason } = settle.close
  const cascade = control.closing?.cascade ?? listOpenChildren(control).map((child) => child.reference)
  // One more closing transaction refuses the items that came during this one.
  const closing: Closing = { outcome, reason, cascade, settled: control.queue.length <= settle.queued }
  return { ...withInvocations(next, control.queue), closing, queue: [], queueBytes: 0 }
}

/** Whether an item came during the run that makes the thread try again: the next run begins with it. */
function goesOn(control: ThreadControl, ending: Ending): boolean {
  const revives = control.run?.revives === true && control.queue.length > 0
  return revives || looksAgain(control, ending)
}

/** The request of a blocked run; none if its thread closes with it. */
function requestOf({ ending, close }: Settle, now: Millis): PendingItem<Millis> | null {
  if (ending?.request === undefined || close !== null) return null
  return { ...ending.request, toolName: null, requestedAt: now }
}

/** Drops the item of variables where the run lacked none. */
function dropVariables(control: ThreadControl): ThreadControl {
  const dropped = control.queue.filter(({ kind }) => kind === 'variables')
  if (dropped.length === 0) return control
  return withQueueChange(removeItems(control, dropped), { removed: dropped.map(({ id }) => id) })
}

/** The child was cancelled with this thread, or is gone already. */
export function removeFromCascade(control: ThreadControl, reference: string): ThreadControl {
  if (control.closing === null) return control
  const cascade = control.closing.cascade.filter((waiting) => waiting !== reference)
  return { ...control, closing: { ...control.closing, cascade } }
}
