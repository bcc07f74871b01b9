/** A call of subagents that waits no longer: its time is over, or its run ends. What it does not take, an item tells (T7). */
import { allCalls, calledTool, changeCall } from './calls.js'
import { missingFrom } from './child-waits.js'
import type { ChildAnswer } from './child-waits.js'
import { reportQueued, withoutChild } from './children.js'
import type { ThreadControl } from './control.js'
import type { Call, ChildWait } from './call-state.js'
import { groupLeft } from './groups.js'

/** The time of the call is over, if it still waits. */
export function waitExpired(control: ThreadControl, callId: string, now: number): ThreadControl {
  const call = allCalls(control.run?.step?.calls ?? []).find(({ id }) => id === callId)
  if (call?.state !== 'waiting' || call.wait.deadline === null || call.wait.deadline > now) return control
  const missing = missingFrom(call.wait)
  const resumable = missing.filter((reference) => isResumable(control, reference))
  // A cancelled child still reports, and nobody is told twice: it is a stranger from now on.
  const cancelled = missing.filter((reference) => !resumable.includes(reference))
  const left = cancelled.reduce(withoutChild, { ...control, progressed: true })
  const expired = changeCall(left, call.id, (waiting) => ({
    ...calledTool(waiting),
    state: 'reported',
    wait: timedOut(call.wait, missing, resumable),
  }))
  // Their ends are kept for the group, and are no items of their own.
  if (!call.wait.group || resumable.length === 0) return expired
  return groupLeft(expired, { callId: call.id, references: resumable }, now)
}

/** Children that nobody waits for any more, and that have not been told yet. */
export function childrenToCancel(call: Call): readonly string[] {
  if (call.state !== 'reported') return []
  return call.wait.reports
    .filter(({ report, reference }) => report.kind === 'timed_out' && !call.wait.stopped.includes(reference))
    .map(({ reference }) => reference)
}

/** The child was cancelled, or is gone already. */
export function childCancelled(control: ThreadControl, callId: string, reference: string): ThreadControl {
  return changeCall(control, callId, (call) =>
    call.state === 'reported'
      ? { ...call, wait: { ...call.wait, stopped: [...call.wait.stopped, reference] } }
      : call,
  )
}

/** The call is cut with its run: answers that it has and did not take are items, and so are those that come later. */
export function waitCut(control: ThreadControl, call: Call, now: number): ThreadControl {
  if (call.state !== 'waiting' && call.state !== 'reported') return control
  const { group, blocking, reports } = call.wait
  if (!group)
    return reports.reduce((next, answer) => reportQueued(next, saidOf(control, answer), now), control)
  const isTold = control.groups.some(({ callId }) => callId === call.id)
  const missing = missingFrom(call.wait)
  if (!blocking || isTold) return control
  return groupLeft(control, { callId: call.id, references: missing }, now)
}

/** One that was ended because its time was over says nothing more; one that stays is still owed. */
function saidOf(control: ThreadControl, { reference, report }: ChildAnswer): ChildAnswer {
  const isEnded = report.kind === 'timed_out' && !isResumable(control, reference)
  return { reference, report: isEnded ? { kind: 'closed', status: 'canceled' } : report }
}

function timedOut(wait: ChildWait, missing: readonly string[], resumable: readonly string[]): ChildWait {
  const report = { kind: 'timed_out' } as const
  const reports = [...wait.reports, ...missing.map((reference) => ({ reference, report }))]
  return { ...wait, reports, stopped: resumable }
}

function isResumable({ children }: ThreadControl, reference: string): boolean {
  return children.some((child) => child.reference === reference && child.resumable)
}
