/** What a child tells its parent: a report into its store, and then its workflow (T2, T7). */
import { ApplicationFailure } from '@temporalio/common'
import { getExternalWorkflowHandle, sleep, TemporalFailure } from '@temporalio/workflow'
import type { DeliverReportAnswer, DeliverReportInput } from '../protocol/end-activities.js'
import { SIGNALS } from '../protocol/messages.js'
import type { ChildReport } from '../protocol/messages.js'
import { terminationFound } from '../thread/apply.js'
import type { Tell } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import { tellDone, toldAs } from '../thread/operations.js'
import { reportAnnounced, reportDelivered, reportKind } from '../thread/reports.js'
import type { DueReport } from '../thread/reports.js'
import { callActivity, untilStored } from './activities.js'
import type { ThreadHost } from './thread-host.js'

/** The pause before a thread whose run refuses its 10,001st signal is signalled again: it continues as new when it can. */
const REFUSED_SIGNAL_PAUSE = 60_000

type OthersAction = Extract<Action, { readonly kind: 'deliverReport' | 'announceReport' | 'tell' }>

/** Carries out an action that another thread learns of, and applies what came of it. */
export function performForOthers(host: ThreadHost, action: OthersAction): Promise<void> {
  switch (action.kind) {
    case 'deliverReport':
      return deliverReport(host, action.due)
    case 'announceReport':
      return announceReport(host, action.report)
    case 'tell':
      return tellThread(host, action.tell)
  }
}

/** Copies what the parent gets into its store, whenever that takes it; the announcement follows (T7). */
async function deliverReport(host: ThreadHost, due: DueReport): Promise<void> {
  const { parent } = host.control.start
  if (parent === undefined) return
  const answer = await untilStored(host, () => storedReport(host, due, parent))
  host.update((control) => reportDelivered(control, due, answer))
  if (answer.type === 'delivered' && answer.terminated === true) host.update(terminationFound)
}

async function storedReport(
  host: ThreadHost,
  { ending, invocations, closes }: DueReport,
  parent: DeliverReportInput['parent'],
): Promise<DeliverReportAnswer | null> {
  const called = await callActivity(host, {
    name: 'deliverReport',
    limit: 0,
    summary: 'report to the parent',
    cutBy: null,
    input: {
      parent,
      report: host.control.reports + 1,
      invocations,
      closes,
      kind: reportKind(ending),
      reason: ending.reason,
      ...(ending.failure !== undefined && { failure: ending.failure }),
      sessionCall: ending.sessionCall,
    },
  })
  return called.kind === 'answered' ? called.answer : null
}

/** Tells the parent that its store holds the report; acknowledged before this thread goes on or closes. */
async function announceReport(host: ThreadHost, report: ChildReport): Promise<void> {
  const { parent } = host.control.start
  if (parent === undefined) return
  const taken = await told(() =>
    getExternalWorkflowHandle(parent.threadId).signal(SIGNALS.childReport, report),
  )
  host.update((control) => reportAnnounced(control, taken))
}

/** Tells another thread's workflow what this thread did to it; its rows say so already (T2). */
async function tellThread(host: ThreadHost, tell: Tell): Promise<void> {
  const message = toldAs(host.control, tell)
  const thread = getExternalWorkflowHandle(tell.to)
  await told(() => (message.signal === null ? thread.cancel() : thread.signal(message.signal, message.input)))
  host.update(tellDone)
}

/** What the SDK calls a signal that the other thread's run cannot take any more: its next run will. */
const REFUSED = 'SignalCountLimitExceeded'

/**
 * Sends something to another thread and awaits that it is taken. A thread that is gone takes nothing, and needs no telling;
 * one whose run has taken all the signals that it can is asked again, until it has continued as new.
 */
export async function told(tell: () => Promise<void>): Promise<'told' | 'gone'> {
  for (;;) {
    try {
      await tell()
      return 'told'
    } catch (error) {
      if (!(error instanceof TemporalFailure)) throw error
      if (!(error instanceof ApplicationFailure) || error.type !== REFUSED) return 'gone'
      await sleep(REFUSED_SIGNAL_PAUSE, { summary: 'another thread continues as new' })
    }
  }
}
