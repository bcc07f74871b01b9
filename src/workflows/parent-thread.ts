/** What a child tells its parent: a report into its store, and then its workflow (T2, T7). */
import { getExternalWorkflowHandle } from '@temporalio/workflow'
import { SIGNALS } from '../protocol/messages.js'
import type { ChildReport } from '../protocol/messages.js'
import { reportAnnounced, reportDelivered, reportKind } from '../thread/reports.js'
import type { DueReport } from '../thread/reports.js'
import { callActivity } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'
import { told } from './told.js'

/** Copies what the parent gets into its store; the announcement follows. */
export async function deliverReport(host: ThreadHost, due: DueReport): Promise<void> {
  const { start, reports } = host.control
  const { ending, invocations, closes } = due
  if (start.parent === undefined) return
  const called = await callActivity(host, {
    name: 'deliverReport',
    limit: 0,
    summary: 'report to the parent',
    cutBy: null,
    input: {
      parent: start.parent,
      report: reports + 1,
      invocations,
      closes,
      kind: reportKind(ending),
      reason: ending.reason,
      sessionCall: ending.sessionCall,
    },
  })
  const answer = called.kind === 'answered' ? called.answer : null
  host.update((control) => reportDelivered(control, due, answer))
}

/** Tells the parent that its store holds the report; acknowledged before this thread goes on or closes. */
export async function announceReport(host: ThreadHost, report: ChildReport): Promise<void> {
  const { parent } = host.control.start
  if (parent === undefined) return
  const taken = await told(() =>
    getExternalWorkflowHandle(parent.threadId).signal(SIGNALS.childReport, report),
  )
  host.update((control) => reportAnnounced(control, taken))
}
