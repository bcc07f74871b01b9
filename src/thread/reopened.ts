/**
 * A thread that was lost goes on: its state as its rows tell it. T4: every number goes on behind those in use, and what
 * was in flight has its result already; a run that was cut off is followed by another one of the same side.
 */
import type { ReopenedThread } from '../protocol/reopened.js'
import { LIMITS } from '../protocol/limits.js'
import { runOf } from './advance.js'
import type { DeferredChild, OpenChild, Report, ThreadControl } from './control.js'
import { groupLeft } from './groups.js'
import { acceptContinue } from './inbox.js'

/** What its rows do not hold is not known: items of the queue come again as signals. */
export function reopenThread(control: ThreadControl, reopened: ReopenedThread, now: number): ThreadControl {
  const { agent, runs, settles, reports, items, children, activated, invocations, lastRun } = reopened
  const known: ThreadControl = {
    ...control,
    ...{ agent, runs, settles, reports, activated, invocations, registered: true },
    itemsNumbered: items,
    childrenInAll: children,
    stopped: reopened.stopped === true,
    children: reopened.open.map((child) => openAgain(child, now)),
    deferred: reopened.deferred.map(deferredAgain),
    effects: reopened.effects.map(([id, dueAt]) => ({ id, dueAt })),
    request: requestOf(reopened),
    report: reportOf(reopened),
    // A child that has said its last word is ended as it was about to.
    terminating: reopened.report?.closes === true,
    lastRun: lastRun ?? null,
  }
  const grouped = reopened.groups.reduce((next, group) => groupLeft(next, group, now), known)
  const { side } = reopened
  if (side === undefined || grouped.terminating) return grouped
  const going = runOf(acceptContinue(grouped, now), 'continue', null)
  return going.run === null ? going : { ...going, run: { ...going.run, side } }
}

/** No close event of it reaches this Temporal run, so one that owes an answer is looked for at once (T7). */
function openAgain(child: ReopenedThread['open'][number], now: number): OpenChild {
  return { ...child, observed: false, checks: 0, nextCheckAt: now }
}

function deferredAgain(child: ReopenedThread['deferred'][number]): DeferredChild {
  return { ...child, expiresAt: child.requestedAt + LIMITS.deferredChild, expired: false }
}

function requestOf({ request }: ReopenedThread): ThreadControl['request'] {
  return request === undefined ? null : { ...request, kind: 'variables', toolName: null }
}

function reportOf({ report }: ReopenedThread): Report | null {
  if (report === undefined) return null
  const { report: number, kind, messageId, invocations, closes } = report
  return {
    ...{ number, kind, invocations, announced: false },
    messageId: messageId ?? null,
    closes: closes === true,
  }
}
