/**
 * The end of a run and of a thread in the store.
 *
 * It owns: the last facts of a step or turn that is interrupted, the results of its calls, and what is refused when a thread
 * closes. It does not own: why a run ends (`run.ts`, `stop-conditions.ts`).
 * Invariant: what is left is told, marked and refused before the thread closes (T8).
 */
import type { ThreadClose } from '../protocol/end-activities.js'
import { fact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { actualSide } from '../protocol/plan.js'
import type { PendingItem } from '../protocol/status.js'
import { listRemainingPhases, switchAgent, sideCompletedFact, withFacts } from './facts.js'
import { listCalls, changeStep } from './calls.js'
import { interruptWait } from './child-calls.js'
import { listOpenChildren } from './children.js'
import type { Closing, ThreadControl } from './control.js'
import { looksAgain, withInvocations, withQueue } from './inbox.js'
import { stepOf, workOf } from './run.js'
import type { Ending, Run } from './run.js'
import type { Millis } from '../protocol/time.js'

/**
 * Before a run is settled: a step or turn that was cut still gets its last events, and reports that came for one of its
 * calls and are not its result yet are items, or this thread would never learn of them (T7).
 */
export function interruptStep(control: ThreadControl, ending: Ending | null, now: Millis): ThreadControl {
  const { run } = control
  if (run === null || ending === null) return control
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

/** Immediate subagents of which a stop left none begun start with the next run. */
function interruptActivation(control: ThreadControl, { reason }: Ending): ThreadControl {
  const step = stepOf(control.run)
  const isUntouched = step?.activates === true && step.calls.every(({ state }) => state === 'open')
  if (reason !== 'stopped' || !isUntouched) return control
  return { ...control, activated: control.activated.filter((side) => side !== step.side) }
}

/** The end of a turn that was judged is told already; one whose model call waits has begun with the call's drain. */
function interruptTurn(control: ThreadControl, run: Run, { reason }: Ending): ThreadControl {
  const scope = { runId: runIdOf(run.number) }
  const work = workOf(run)
  const call = work.kind === 'between_steps' ? work.call : null
  if (call !== null && !call.toolFirst) {
    const side = control.plan === null ? call.side : actualSide(control.plan, call.side)
    return withFacts(control, sideCompletedFact(scope, side, reason))
  }
  const isCut = run.phase.kind !== 'ending' || run.phase.isInterrupted || work.kind === 'stepping'
  return isCut && run.turn.kind === 'under_way'
    ? withFacts(control, sideCompletedFact(scope, run.side, reason))
    : control
}

/** What a cut call had asked for still happens: another agent has the thread from now on. */
function interruptCalls(control: ThreadControl, now: Millis): ThreadControl {
  const step = stepOf(control.run)
  if (step === null) return control
  const told = listCalls(step.calls).reduce((next, call) => interruptWait(next, call, now), control)
  const cut = changeStep(told, (cutStep) => ({ ...cutStep, calls: [], phase: 6, handOff: null }))
  return step.handOff === null ? cut : switchAgent(cut, step.handOff, 'a')
}

/** Tools of the queue that were taken from it and will not run: only the end of their run can give them a result. */
export function listInterruptedTools({ run }: ThreadControl, ending: Ending | null): readonly string[] {
  const skipped = ending?.tool === undefined ? [] : [ending.tool]
  const step = stepOf(run)
  const calls = step?.outside === true ? step.calls : []
  return [...skipped, ...calls.flatMap(({ id, state }) => (state === 'done' ? [] : [id]))]
}

interface Settle {
  readonly ending: Ending | null
  readonly close: ThreadClose | null
  /** Items that waited when the closing transaction was scheduled. */
  readonly queued: number
}

/**
 * The run is over in the store, and with `close` the thread takes nothing any more. One that ends neither has told of an
 * effect only.
 */
export function applySettle(control: ThreadControl, settle: Settle, now: Millis): ThreadControl {
  if (settle.ending === null && settle.close === null)
    return { ...control, settles: control.settles + 1, progressed: true, registered: true }
  const { run } = control
  const lastRun =
    run === null || settle.ending === null
      ? control.lastRun
      : { runId: runIdOf(run.number), reason: settle.ending.reason, steps: run.steps, endedAt: now }
  const request = settle.close === null ? (requestOf(settle, now) ?? control.request) : null
  const going = request === null && settle.close === null ? dropVariables(control) : control
  // What could not be done for a day, or lacks a variable, is not tried again at once: it is parked as by a stop.
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
  // What arrived meanwhile is refused by one more closing transaction.
  const closing: Closing = { outcome, reason, cascade, settled: control.queue.length <= settle.queued }
  return { ...withInvocations(next, control.queue), closing, queue: [], queueBytes: 0 }
}

/** Something came while the run worked that asks to try again: the next run begins with it. */
function goesOn(control: ThreadControl, ending: Ending): boolean {
  const revives = control.run?.revives === true && control.queue.length > 0
  return revives || looksAgain(control, ending)
}

/** A run that is closed with its thread asks for nothing. */
function requestOf({ ending, close }: Settle, now: Millis): PendingItem<Millis> | null {
  if (ending?.request === undefined || close !== null) return null
  return { ...ending.request, toolName: null, requestedAt: now }
}

/** Variables that came for a run which lacked none ask for nothing. */
function dropVariables(control: ThreadControl): ThreadControl {
  const queue = control.queue.filter(({ kind }) => kind !== 'variables')
  return queue.length === control.queue.length ? control : withQueue(control, queue)
}

/** A child was told that this thread is gone, or needs no telling. */
export function removeFromCascade(control: ThreadControl, reference: string): ThreadControl {
  if (control.closing === null) return control
  const cascade = control.closing.cascade.filter((waiting) => waiting !== reference)
  return { ...control, closing: { ...control.closing, cascade } }
}
