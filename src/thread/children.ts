/**
 * Children whose invocation is unanswered. T7: however a child ends, its parent learns it exactly once: by its report,
 * by its close event in the run that started it, or, after continue-as-new, because it is looked for.
 */
import { LIMITS } from '../protocol/limits.js'
import { OUR_IDS, childReportProblem } from '../protocol/messages.js'
import type { ChildReport } from '../protocol/messages.js'
import { allCalls, calledTool, changeCall } from './calls.js'
import type { Call, CallIn, CallReport, OwedChild, ThreadControl } from './control.js'
import { withWarning } from './facts.js'
import { enqueue } from './inbox.js'

/**
 * The child runs, and its call waits, unless its report came first. `observed`: its close event will reach this Temporal
 * run.
 */
export function childStarted(
  control: ThreadControl,
  { id, reference }: CallIn<'prepared'>,
  observed: boolean,
): ThreadControl {
  const waiting = changeCall(control, id, (call) =>
    call.state === 'prepared'
      ? { ...calledTool(call), state: 'waiting', reference, stopForwarded: false }
      : call,
  )
  const children = waiting.children.map((child) =>
    child.reference === reference ? { ...child, observed } : child,
  )
  return { ...waiting, children, progressed: true }
}

/** Takes a `childReport` signal. A report of a child that is not owed was answered before. */
export function acceptReport(control: ThreadControl, input: unknown, now: number): ThreadControl {
  const problem = childReportProblem(input)
  if (problem !== undefined) return withWarning(control, 'report_skipped', problem)
  const { reference, invocations, kind, messageId } = input as ChildReport
  const owed = control.children.find(
    (child) => child.reference === reference && invocations.includes(child.callId),
  )
  if (owed === undefined) return control
  const answered = noLongerOwed(control, reference)
  if (waitingCall(answered, reference) !== undefined) return reported(answered, owed, { kind, messageId })
  return reportQueued(answered, { reference, report: { kind, messageId } }, now)
}

/** A child closed without a report: reported once, as a failure with its close status. */
export function childClosed(
  control: ThreadControl,
  child: { readonly reference: string; readonly status: string },
  now: number,
): ThreadControl {
  const { reference, status } = child
  const owed = control.children.find((candidate) => candidate.reference === reference)
  if (owed === undefined) return control
  const answered = noLongerOwed(control, reference)
  if (waitingCall(answered, reference) !== undefined)
    return reported(answered, owed, { kind: 'closed', status })
  return reportQueued(answered, { reference, report: { kind: 'closed', status } }, now)
}

/** No call takes the report, or takes it any more: it is an ordinary item. */
export function reportQueued(
  control: ThreadControl,
  { reference, report }: { readonly reference: string; readonly report: CallReport },
  now: number,
): ThreadControl {
  if (report.kind !== 'closed')
    return enqueue(control, { kind: 'report', id: report.messageId, queuedAt: now }, false)
  const { status } = report
  const entry = {
    kind: 'child_closed',
    id: `${OUR_IDS}closed:${reference}`,
    reference,
    status,
    queuedAt: now,
  } as const
  return enqueue(control, entry, false)
}

/** The interrupt of this thread was passed on to the child that its call waits for. */
export function stopForwarded(control: ThreadControl, callId: string): ThreadControl {
  return changeCall(control, callId, (call) =>
    call.state === 'waiting' ? { ...call, stopForwarded: true } : call,
  )
}

/** When owed children whose close event cannot be seen have to be looked for, or null. */
export function nextCheckAt(control: ThreadControl): number | null {
  const times = control.children.filter((child) => !child.observed).map((child) => child.nextCheckAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Children to look for now. */
export function childrenToCheck(control: ThreadControl, now: number): readonly string[] {
  return control.children
    .filter((child) => !child.observed && child.nextCheckAt <= now)
    .map((child) => child.reference)
}

/** They were looked for: those that are closed are answered for, the others are looked for again, later. */
export function childrenChecked(
  control: ThreadControl,
  checked: readonly string[],
  closed: readonly { readonly reference: string; readonly status: string }[],
  now: number,
): ThreadControl {
  const children = control.children.map((child) =>
    checked.includes(child.reference) ? postponed(child, now) : child,
  )
  // Looking for them is history too, and must not keep the thread from continuing as new.
  const counted: ThreadControl = {
    ...control,
    children,
    childChecks: control.childChecks + 1,
    progressed: true,
  }
  return closed.reduce<ThreadControl>((next, child) => childClosed(next, child, now), counted)
}

function postponed(child: OwedChild, now: number): OwedChild {
  const checks = child.checks + 1
  const doublings = Math.max(0, checks - LIMITS.childChecksAtFirst + 1)
  const delay = Math.min(LIMITS.childCheckFirst * 2 ** doublings, LIMITS.childCheckLast)
  return { ...child, checks, nextCheckAt: now + delay }
}

function waitingCall(control: ThreadControl, reference: string): Call | undefined {
  return allCalls(control.run?.step?.calls ?? []).find(
    (call) => (call.state === 'prepared' || call.state === 'waiting') && call.reference === reference,
  )
}

function reported(control: ThreadControl, owed: OwedChild, report: CallReport): ThreadControl {
  const { reference, callId } = owed
  const changed = changeCall(control, callId, (call) => ({
    ...calledTool(call),
    state: 'reported',
    reference,
    report,
  }))
  return { ...changed, progressed: true }
}

function noLongerOwed(control: ThreadControl, reference: string): ThreadControl {
  return { ...control, children: control.children.filter((child) => child.reference !== reference) }
}
