/**
 * How a run ends, how a thread ends, and what is told between two runs. In this order: report into the parent's store,
 * settle, announce the report, tell the children, close (T7, T8): by the time the parent hears of an end, it is settled.
 */
import type { ThreadClose } from '../protocol/end-activities.js'
import type { Ending, ThreadControl } from './control.js'
import type { Action } from './next-action.js'
import { announcement, reportOfClosing, reportOfIdle, reportOfRun } from './reports.js'

/** The end of a run of a thread that stays open. */
export function runEndAction(control: ThreadControl, ending: Ending): Action {
  return deliver(reportOfRun(control, ending)) ?? { kind: 'settle', ending, close: null }
}

/** What an idle thread owes its parent. */
export function idleAction(control: ThreadControl): Action | null {
  return announce(control) ?? deliver(reportOfIdle(control))
}

/** The end of a thread. */
export function closingAction(control: ThreadControl, ending: Ending | null, close: ThreadClose): Action {
  const { report, closing, run } = control
  // It was made before the thread was to close, and tells of a run: that comes first.
  if (closing === null && report !== null && !report.closes && !report.announced)
    return (run === null ? announce(control) : null) ?? { kind: 'settle', ending, close: null }
  const last = deliver(reportOfClosing(control, ending))
  if (last !== null) return last
  if (closing === null || !closing.settled) return { kind: 'settle', ending, close }
  const [next] = closing.cascade
  if (next === undefined) return announce(control) ?? { kind: 'close', closing }
  return announce(control) ?? { kind: 'cancelChild', reference: next }
}

function deliver(due: ReturnType<typeof reportOfRun>): Action | null {
  return due === null ? null : { kind: 'deliverReport', due }
}

function announce(control: ThreadControl): Action | null {
  const report = announcement(control)
  return report === null ? null : { kind: 'announceReport', report }
}
