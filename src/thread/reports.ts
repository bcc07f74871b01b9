/**
 * Reports of a child to its parent.
 *
 * It owns: when a report is due, whom it answers, and what is announced of it. It does not own: its text (the store).
 * Invariants: a call of the parent is named by one report, however the run ends (T7). A report is announced after the end that
 * it reports is stored.
 */
import type { DeliverReportAnswer } from '../protocol/end-activities.js'
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import type { Report, ThreadControl } from './control.js'
import { looksAgain, listInvocations, withoutInvocations } from './inbox.js'
import { TERMINATED, isReported, markReported } from './run.js'
import type { Ending } from './run.js'

/** A report that is to be made. */
export interface DueReport {
  readonly ending: Ending
  readonly invocations: readonly string[]
  readonly closes: boolean
}

/** The report of a run that ends in a thread that stays open: if its session has a result, or the parent asked. */
export function reportOfRun(control: ThreadControl, ending: Ending): DueReport | null {
  const { invocations, run } = control
  if (!mayReport(control) || run === null || isReported(run)) return null
  // If variables came during the run, the next run uses them and answers.
  const asked = invocations.length > 0 && (control.stopped || !looksAgain(control, ending))
  return asked || ending.sessionCall !== null ? { ending, invocations, closes: false } : null
}

/**
 * The report of a thread without a run: its messages were removed or refused, or the thread is parked, perhaps for ever. Messages
 * behind an effect get a run, which answers.
 */
export function reportOfIdle(control: ThreadControl): DueReport | null {
  const { queue, stopped } = control
  if (!mayReport(control) || (!stopped && queue.length > 0)) return null
  const parked = listInvocations(queue)
  const invocations = union(control.invocations, parked)
  if (invocations.length === 0) return null
  const blocked = control.lastRun?.reason === 'blocked' ? 'blocked' : 'stopped'
  const reason = parked.length === 0 ? 'hook_blocked' : blocked
  return { ending: { reason, outcome: 'failed', sessionCall: null }, invocations, closes: false }
}

/** The last report, of a thread that closes: it also answers for the items of its queue, which are rejected. */
export function reportOfClosing(control: ThreadControl, ending: Ending | null): DueReport | null {
  if (!mayReport(control) || control.closing !== null) return null
  const invocations = union(control.invocations, listInvocations(control.queue))
  return { ending: ending ?? TERMINATED, invocations, closes: true }
}

/** One report at a time: a delivered report is announced before the next one is made. */
function mayReport({ start, report }: ThreadControl): boolean {
  return start.parent !== undefined && report === null
}

/** Only a session that ended as it should reports a result; caps, stops and failures are failures (T7). */
export function reportKind(ending: Ending): 'result' | 'failure' {
  return ending.outcome === 'completed' ? 'result' : 'failure'
}

/** The report is in the parent's store. If the parent is gone, the child has nothing to do and closes. */
export function applyDeliveredReport(
  control: ThreadControl,
  { invocations, closes }: DueReport,
  answer: DeliverReportAnswer,
): ThreadControl {
  const gone = answer.type === 'parent_gone'
  const delivered =
    answer.type === 'delivered'
      ? { kind: answer.kind, messageId: answer.messageId }
      : { kind: 'failure' as const, messageId: null }
  const number = control.reports + 1
  return {
    ...withoutInvocations(control, invocations),
    run: control.run === null ? null : markReported(control.run),
    report: { number, ...delivered, invocations, closes, announced: gone },
    reports: number,
    terminating: control.terminating || (gone && !closes),
    progressed: true,
  }
}

/** The signal that announces the report to the parent's workflow, or null if there is none to send now. */
export function createAnnouncement({
  threadId,
  report,
  closing,
  invocations,
}: ThreadControl): ChildReport | null {
  if (report === null || report.announced || (report.closes && closing === null)) return null
  const { number, kind, messageId, closes } = report
  return {
    reference: threadId,
    report: number,
    // Messages that came after the last report were rejected: no other report will name their calls.
    invocations: closes
      ? union(report.invocations, invocations).slice(-LIMITS.invocations)
      : report.invocations,
    kind,
    ...(messageId === null ? {} : { messageId }),
    ...(closes ? { closes } : {}),
  }
}

/** The parent's workflow has taken the announcement; if it is gone, this thread closes. */
export function applyAnnouncement(control: ThreadControl, parent: 'delivered' | 'gone'): ThreadControl {
  const { report, closing } = control
  if (report === null) return control
  const going = { ...control, progressed: true }
  if (parent === 'delivered') return { ...going, report: null }
  const undelivered: Report = { ...report, announced: true }
  return { ...going, report: undelivered, terminating: control.terminating || closing === null }
}

function union(some: readonly string[], others: readonly string[]): readonly string[] {
  return [...new Set([...some, ...others])]
}
