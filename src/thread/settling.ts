/** The end of a run and of a thread. T8: what is left is told, marked and refused before the thread closes. */
import type { DeliverReportAnswer, ThreadClose } from '../protocol/activities.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import type { Side } from '../protocol/plan.js'
import { remainingPhases } from './advance.js'
import { reportQueued } from './children.js'
import type { Closing, Ending, Run, ThreadControl } from './control.js'
import { withFacts } from './facts.js'

/**
 * Before a run is settled: a step or turn that was cut still gets its last events, and a report that came for one of its
 * calls and is not its result yet is an item, or the parent would never learn of it (T7).
 */
export function withCutStep(control: ThreadControl, ending: Ending | null, now: number): ThreadControl {
  const { run } = control
  if (run === null || ending === null) return control
  const { reason } = ending
  if (run.step === null) {
    const cutTurn = run.ending === null && !run.sideStarts
    return cutTurn ? withFacts(control, sideCompleted(run, run.side, reason)) : control
  }
  const { step } = run
  const scope = { runId: runIdOf(run.number), stepId: stepIdOf(run.number, step.number) }
  const completed = { type: 'step.completed', scope, payload: { step: step.number, reason } }
  const facts = [...remainingPhases(step, scope), completed, sideCompleted(run, step.side, reason)]
  const told = step.calls.reduce(
    (next, call) => (call.state === 'reported' ? reportQueued(next, call, now) : next),
    withFacts(control, ...facts),
  )
  return { ...told, run: { ...run, step: { ...step, calls: [], phase: 6 } } }
}

function sideCompleted(run: Run, side: Side, reason: string): Fact {
  return { type: 'side.completed', scope: { runId: runIdOf(run.number) }, payload: { side, reason } }
}

interface Settle {
  readonly ending: Ending | null
  readonly close: ThreadClose | null
  /** Items that waited when the closing transaction was scheduled. */
  readonly queued: number
}

/** The run is over in the store, and with `close` the thread takes nothing any more. */
export function settled(control: ThreadControl, settle: Settle, now: number): ThreadControl {
  const { run } = control
  const lastRun =
    run === null || settle.ending === null
      ? control.lastRun
      : { runId: runIdOf(run.number), reason: settle.ending.reason, steps: run.steps, endedAt: now }
  // What could not be done for a day is not tried again at once: the thread is parked as by a stop.
  const stopped = control.stopped || settle.ending?.reason === 'blocked'
  const next = {
    ...control,
    stopped,
    run: null,
    lastRun,
    settles: control.settles + 1,
    progressed: true,
    registered: true,
  }
  if (settle.close === null) return next
  const { outcome, reason } = settle.close
  const cascade = control.closing?.cascade ?? control.children.map((child) => child.reference)
  // What arrived meanwhile is refused by one more closing transaction.
  const closing: Closing = { outcome, reason, cascade, settled: control.queue.length <= settle.queued }
  return { ...next, closing, queue: [], queueBytes: 0 }
}

/** A child was told that this thread is gone, or needs no telling. */
export function childTold(control: ThreadControl, reference: string): ThreadControl {
  if (control.closing === null) return control
  const cascade = control.closing.cascade.filter((waiting) => waiting !== reference)
  return { ...control, closing: { ...control.closing, cascade } }
}

/** The report is in the parent's store, or the parent takes none any more. */
export function reportDelivered(
  control: ThreadControl,
  ending: Ending,
  answer: DeliverReportAnswer,
): ThreadControl {
  const kind = reportKind(ending)
  const messageId = answer.type === 'delivered' ? answer.messageId : null
  return { ...control, report: { messageId, kind, announced: false }, progressed: true }
}

/** The parent's workflow took the announcement, or is gone. */
export function reportAnnounced(control: ThreadControl): ThreadControl {
  return control.report === null ? control : { ...control, report: { ...control.report, announced: true } }
}

/** Only a session that ended as it should reports a result; caps, stops and failures are failures (T7). */
export function reportKind(ending: Ending): 'result' | 'failure' {
  return ending.outcome === 'completed' ? 'result' : 'failure'
}
