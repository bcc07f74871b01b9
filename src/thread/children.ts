/**
 * The children of a thread: those that wait for variables, those that are open, and those that owe an answer.
 *
 * It owns: who is open, which calls a child has not answered, groups of children that are answered for together, when a
 * child is looked for. It does not own: the calls that wait for children (`child-calls.ts`), and reports that come before
 * their call (`reset.ts`).
 * Invariants: however a child ends, its parent learns it exactly once (T7): by its report, by its close event in the run that
 * started it, or, after continue-as-new, because it is looked for. A child that waits for variables is not open yet, and
 * nothing else answers for it.
 */
import type { ClosedChild } from '../protocol/end-activities.js'
import { LIMITS } from '../protocol/limits.js'
import { childReportProblem } from '../protocol/message-problems.js'
import { OUR_IDS } from '../protocol/messages.js'
import type { ChildReport } from '../protocol/messages.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { PendingItem } from '../protocol/status.js'
import type { CallReport, PreparedChild } from '../protocol/subagent.js'
import { callTaking, withReport } from './child-waits.js'
import type { ChildGroup, DeferredChild, OpenChild, ThreadControl } from './control.js'
import { withWarning } from './facts.js'
import { enqueue, hasRoom } from './inbox.js'
import { earlyReportKept } from './reset.js'

/** A child whose rows exist: from now on it owes the call an answer. */
export function openChild(
  { reference, resumable }: Pick<PreparedChild, 'reference' | 'resumable'>,
  callId: string,
  now: number,
): OpenChild {
  const child = { reference, resumable, invocations: [], reports: 0, observed: false, checks: 0 }
  return invoked({ ...child, nextCheckAt: now }, callId, now)
}

/** The child is to answer one more call. It takes them in order: the newest ones tell whether it owes. */
export function invoked(child: OpenChild, callId: string, now: number): OpenChild {
  const others = child.invocations.filter((id) => id !== callId)
  const invocations = [...others, callId].slice(-LIMITS.invocationsPerChild)
  return { ...child, invocations, checks: 0, nextCheckAt: now + LIMITS.childCheckFirst }
}

/**
 * Whether its close event will reach this Temporal run. One that ran before it was started is looked for at once: after a
 * reset it may have said all that it had to say.
 */
export function observed(
  control: ThreadControl,
  reference: string,
  seen: { readonly isObserved: boolean; readonly now: number },
): ThreadControl {
  return changeChild(control, reference, (child) => ({
    ...child,
    observed: seen.isObserved,
    nextCheckAt: seen.isObserved ? child.nextCheckAt : seen.now,
  }))
}

/** Takes a `childReport` signal. A number that was taken is a duplicate; a child that is not open was answered for. */
export function acceptReport(control: ThreadControl, input: unknown, now: number): ThreadControl {
  const problem = childReportProblem(input)
  if (problem !== undefined) return withWarning(control, 'report_skipped', problem)
  const said = input as ChildReport
  const { reference } = said
  const child = childOf(control, reference)
  if (child === undefined) return control.closing === null ? earlyReportKept(control, said) : control
  const answers = said.invocations.some((id) => child.invocations.includes(id))
  // A call is answered once, so that the number of a report that answers one is right, whatever was said before (T7).
  if (!answers && said.report <= child.reports) return control
  if (!answers && said.report > child.reports + LIMITS.reportGap)
    return withWarning(
      control,
      'report_skipped',
      'A report that answers no call is far ahead of the last one.',
    )
  const left = child.invocations.filter((id) => !said.invocations.includes(id))
  // The one report of such a child answers the one call that it has; whatever else looks like it answers nothing (T10).
  if (!child.resumable && left.length > 0) return control
  const counted = { ...child, invocations: left, reports: said.report }
  const isEarly = said.invocations.some((id) => !child.invocations.includes(id))
  const going = { ...(isEarly ? earlyReportKept(control, said) : control), progressed: true }
  // A child that is not resumable says one thing.
  if (said.closes !== true && child.resumable)
    return reportTaken(
      changeChild(going, reference, () => counted),
      { said, owed: child.invocations },
      now,
    )
  const told = reportTaken(withoutChild(going, reference), { said, owed: child.invocations }, now)
  return answeredByClose(told, { ...counted, status: 'completed' }, now)
}

/** A child closed without a report: what it owes is answered for once, with its close status. */
export function childClosed(
  control: ThreadControl,
  { reference, status }: { readonly reference: string; readonly status: string },
  now: number,
): ThreadControl {
  const child = childOf(control, reference)
  if (child === undefined) return control
  const gone = { ...withoutChild(control, reference), progressed: true }
  if (child.invocations.length === 0) return withClosed(gone, { reference, status })
  return answeredByClose(gone, { ...child, status }, now)
}

/** No call takes the report, or takes it any more: it is an ordinary item, if it says anything. */
export function reportQueued(
  control: ThreadControl,
  { reference, report }: { readonly reference: string; readonly report: CallReport },
  now: number,
): ThreadControl {
  if (report.kind === 'closed') {
    const id = `${OUR_IDS}closed:${reference}`
    const { status } = report
    return enqueue(control, { kind: 'child_closed', id, reference, status, queuedAt: now })
  }
  const id = report.kind === 'timed_out' ? undefined : report.messageId
  return id === undefined ? control : enqueue(control, { kind: 'report', id, queuedAt: now })
}

/** The child answers for nothing any more: it was cancelled, or its parent knows how it ended. */
export function withoutChild(control: ThreadControl, reference: string): ThreadControl {
  return { ...control, children: control.children.filter((child) => child.reference !== reference) }
}

export function changeChild(
  control: ThreadControl,
  reference: string,
  change: (child: OpenChild) => OpenChild,
): ThreadControl {
  const children = control.children.map((child) => (child.reference === reference ? change(child) : child))
  return { ...control, children }
}

/** The call that waits for it takes it; a child of a group counts towards its group; what is left is an item. */
function reportTaken(
  control: ThreadControl,
  { said, owed }: { readonly said: ChildReport; readonly owed: readonly string[] },
  now: number,
): ThreadControl {
  const { reference, invocations, kind, messageId } = said
  const report = { kind, ...(messageId === undefined ? {} : { messageId }) }
  const counted = childCounted(control, said, now)
  const call = callTaking(counted, said, report)
  if (call !== null) return withReport(counted, call, { reference, report })
  const others = invocations.filter((callId) => !isCounted(control, { reference, callId }))
  if (others.length === 0 && invocations.length > 0) return counted
  // What nobody asked for has no bound but that of the queue (T10).
  const asked = others.some((callId) => owed.includes(callId))
  const entry = { kind: 'message', id: messageId ?? '', role: 'user', queuedAt: now } as const
  if (!asked && !hasRoom(counted, entry))
    return withWarning(counted, 'queue_full', 'A report that no call asked for found no room in the queue.')
  return reportQueued(counted, { reference, report }, now)
}

interface EndedChild extends Pick<OpenChild, 'reference' | 'invocations'> {
  readonly status: string
}

/** What a closed child had not answered. */
function answeredByClose(control: ThreadControl, child: EndedChild, now: number): ThreadControl {
  const { reference, invocations, status } = child
  if (invocations.length === 0) return control
  const report = { kind: 'closed', status } as const
  const call = callTaking(control, child, report)
  const answered = call === null ? control : withReport(control, call, { reference, report })
  const counted = childCounted(answered, child, now)
  const left = invocations.filter((callId) => callId !== call && !isCounted(control, { reference, callId }))
  return left.length > 0 ? reportQueued(counted, { reference, report }, now) : counted
}

/** Once the thread closes nobody is told any more, and its children are told instead (T8). */
function childOf({ closing, children }: ThreadControl, reference: string): OpenChild | undefined {
  return closing === null ? children.find((child) => child.reference === reference) : undefined
}

/** Nobody waits for it: the registry and the log learn it with the next settle, and the model is offered it no more. */
function withClosed(control: ThreadControl, { reference, status }: ClosedChild): ThreadControl {
  return { ...control, closed: [...control.closed, { reference, status }].slice(-LIMITS.closedChildren) }
}

/** A settle has told of these; where the store failed for a day, whoever writes to them finds out. */
export function closesTold(control: ThreadControl, told: readonly ClosedChild[]): ThreadControl {
  if (told.length === 0) return control
  return { ...control, closed: control.closed.filter((child) => !told.includes(child)) }
}

export type DeferredAction =
  | { readonly kind: 'startDeferred'; readonly deferred: DeferredChild }
  | { readonly kind: 'expireChild'; readonly deferred: DeferredChild }

/** What the call of a subagent says when its child lacks variables. */
export function childrenDeferred(
  control: ThreadControl,
  callId: string,
  operations: readonly ThreadOperation[] | undefined,
  now: number,
): ThreadControl {
  const deferred = (operations ?? []).flatMap((operation): readonly DeferredChild[] => {
    if (operation.kind !== 'defer_child') return []
    const { requestId, child, expiresAt } = operation
    return [{ requestId, callId, child, requestedAt: now, expiresAt, supplied: false, expired: false }]
  })
  return {
    ...control,
    deferred: [...control.deferred, ...deferred],
    childrenInAll: control.childrenInAll + deferred.length,
  }
}

/** Requests for variables of subagents. */
export function deferredRequests({ deferred }: ThreadControl): readonly PendingItem[] {
  return deferred
    .filter(({ supplied }) => !supplied)
    .map(({ requestId: id, requestedAt }) => ({ id, kind: 'variables', toolName: null, requestedAt }))
}

/** What is to be done for them before anything else; one that was answered in time is not looked for. */
export function deferredAction({ deferred }: ThreadControl): DeferredAction | null {
  const supplied = deferred.find((child) => child.supplied)
  if (supplied !== undefined) return { kind: 'startDeferred', deferred: supplied }
  const expired = deferred.find((child) => child.expired)
  return expired === undefined ? null : { kind: 'expireChild', deferred: expired }
}

/** The request is answered. */
export function deferredSupplied(control: ThreadControl, requestId: string): ThreadControl {
  return changeDeferred(control, requestId, (child) => ({ ...child, supplied: true, expired: false }))
}

/** It is to be started at once: from now on it is owed, for its report may come before its started event. */
export function deferredOpened(
  control: ThreadControl,
  { child, callId }: DeferredChild,
  now: number,
): ThreadControl {
  return { ...control, children: [...control.children, openChild(child, callId, now)], progressed: true }
}

/** It runs. */
export function deferredStarted(
  control: ThreadControl,
  { requestId, child }: DeferredChild,
  seen: Parameters<typeof observed>[2],
): ThreadControl {
  return observed(withoutDeferred(control, requestId), child.reference, seen)
}

/** When the next one expires, or null. */
export function nextExpiryAt({ deferred }: ThreadControl): number | null {
  const times = deferred
    .filter(({ supplied, expired }) => !supplied && !expired)
    .map(({ expiresAt }) => expiresAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Marks those whose time is over. */
export function deferredDue(control: ThreadControl, now: number): ThreadControl {
  const isDue = ({ supplied, expired, expiresAt }: DeferredChild): boolean =>
    !supplied && !expired && expiresAt <= now
  if (!control.deferred.some(isDue)) return control
  const deferred = control.deferred.map((child) => (isDue(child) ? { ...child, expired: true } : child))
  return { ...control, deferred, progressed: true }
}

/** The store has it expired, and the parent is told; without a message it was answered in time, and starts. */
export function childExpired(
  control: ThreadControl,
  requestId: string,
  messageId: string | null,
  now: number,
): ThreadControl {
  if (messageId === null) return deferredSupplied(control, requestId)
  const without = withoutDeferred(control, requestId)
  return enqueue(without, { kind: 'report', id: messageId, queuedAt: now })
}

/** The store could not be asked for a day: it is asked again. */
export function expiryFailed(control: ThreadControl, requestId: string, now: number): ThreadControl {
  const expiresAt = now + LIMITS.childCheckLast
  return changeDeferred(control, requestId, (child) => ({ ...child, expired: false, expiresAt }))
}

function withoutDeferred(control: ThreadControl, requestId: string): ThreadControl {
  const deferred = control.deferred.filter((child) => child.requestId !== requestId)
  return { ...control, deferred, progressed: true }
}

function changeDeferred(
  control: ThreadControl,
  requestId: string,
  change: (child: DeferredChild) => DeferredChild,
): ThreadControl {
  if (!control.deferred.some((child) => child.requestId === requestId)) return control
  const deferred = control.deferred.map((child) => (child.requestId === requestId ? change(child) : child))
  return { ...control, deferred, progressed: true }
}

/** No call waits for these: their group is told when they have ended, at once if all have. */
export function groupLeft(control: ThreadControl, group: ChildGroup, now: number): ThreadControl {
  const { callId, references } = group
  if (references.length > 0) return { ...control, groups: [...control.groups, group] }
  return enqueue(control, { kind: 'group', id: callId, queuedAt: now })
}

/** Whether the child's answer to this call only counts towards its group. */
function isCounted(
  { groups }: ThreadControl,
  { reference, callId }: { readonly reference: string; readonly callId: string },
): boolean {
  return groups.some((group) => group.callId === callId && group.references.includes(reference))
}

/** A child has answered these calls: the last one of a group makes it an item. */
function childCounted(
  control: ThreadControl,
  { reference, invocations }: { readonly reference: string; readonly invocations: readonly string[] },
  now: number,
): ThreadControl {
  return invocations.reduce((next, callId) => {
    const group = next.groups.find((candidate) => candidate.callId === callId)
    if (group === undefined || !group.references.includes(reference)) return next
    const references = group.references.filter((left) => left !== reference)
    const groups = next.groups.filter((candidate) => candidate !== group)
    return groupLeft({ ...next, groups }, { callId, references }, now)
  }, control)
}

/** When owed children whose close event cannot be seen have to be looked for, or null. */
export function nextCheckAt(control: ThreadControl): number | null {
  const times = control.children.filter(lookedFor(control)).map((child) => child.nextCheckAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Children to look for now. */
export function childrenToCheck(control: ThreadControl, now: number): readonly string[] {
  return control.children
    .filter(lookedFor(control))
    .filter(({ nextCheckAt }) => nextCheckAt <= now)
    .map((child) => child.reference)
}

/** Numbers of the last reports that were taken of them. */
export function reportsTaken(control: ThreadControl, references: readonly string[]): readonly number[] {
  return references.map(
    (wanted) => control.children.find(({ reference }) => reference === wanted)?.reports ?? 0,
  )
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

/** One that owes nothing is looked for when the next child would be refused, a few times; else whoever writes to it finds out. */
function lookedFor({ children, deferred }: ThreadControl): (child: OpenChild) => boolean {
  const isFull = children.length + deferred.length >= LIMITS.openChildren
  return ({ observed, invocations, checks }) =>
    !observed && (invocations.length > 0 || (isFull && checks < LIMITS.childChecksAtFirst))
}

function postponed(child: OpenChild, now: number): OpenChild {
  const checks = child.checks + 1
  const doublings = Math.max(0, checks - LIMITS.childChecksAtFirst + 1)
  const delay = Math.min(LIMITS.childCheckFirst * 2 ** doublings, LIMITS.childCheckLast)
  return { ...child, checks, nextCheckAt: now + delay }
}
