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
import type { Millis } from '../protocol/time.js'
import type { ClosedChild } from '../protocol/end-activities.js'
import { LIMITS } from '../protocol/limits.js'
import { childReportProblem } from '../protocol/message-problems.js'
import { OUR_IDS } from '../protocol/messages.js'
import type { ChildReport } from '../protocol/messages.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { CallReport, PendingItem, PreparedChild } from '../protocol/status.js'
import { listMissing, addReport, listCalls } from './calls.js'
import type { Child, DeferredChild, OpenChild, ThreadControl } from './control.js'
import { withWarning } from './facts.js'
import { enqueue, hasRoom } from './inbox.js'
import { keepEarlyReport } from './reset.js'
import { stepOf } from './run.js'

/** How far the number of a report that answers no call may be ahead of the last one: a few reports may be lost. */
const REPORT_GAP = 64

/** A child whose rows exist: from now on it owes the call an answer. */
export function createOpenChild(
  { reference, resumable }: Pick<PreparedChild, 'reference' | 'resumable'>,
  callId: string,
  now: Millis,
): OpenChild {
  const child = { reference, resumable, owes: [], reports: 0, observed: false, checks: 0 }
  return addOwedCall({ ...child, state: 'open', nextCheckAt: now }, callId, now)
}

/**
 * The child owes one more call an answer. It answers in order, so the newest calls suffice to know whether it owes; calls of a
 * group are all kept, for the group waits for all of its children.
 */
export function addOwedCall(child: OpenChild, callId: string, now: Millis): OpenChild {
  const others = child.owes.filter((owed) => owed.callId !== callId)
  const single = [...others.filter(({ isGrouped }) => !isGrouped), { callId, isGrouped: false }]
  const grouped = others.filter(({ isGrouped }) => isGrouped)
  const owes = [...grouped, ...single.slice(-LIMITS.invocationsPerChild)]
  return { ...child, owes, checks: 0, nextCheckAt: now + LIMITS.childCheckFirst }
}

/**
 * Sets whether the close event of the child will reach this Temporal run. A child that was running before is checked at once:
 * after a reset it may have sent its last report.
 */
export function setObserved(
  control: ThreadControl,
  reference: string,
  seen: { readonly isObserved: boolean; readonly now: Millis },
): ThreadControl {
  return changeChild(control, reference, (child) => ({
    ...child,
    observed: seen.isObserved,
    nextCheckAt: seen.isObserved ? child.nextCheckAt : seen.now,
  }))
}

/** Takes a `childReport` signal. A number that was taken before is a duplicate; a child that is not open is answered for. */
export function acceptReport(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  const problem = childReportProblem(input)
  if (problem !== undefined) return withWarning(control, 'report_skipped', problem)
  const said = input as ChildReport
  const { reference } = said
  const child = findChild(control, reference)
  if (child === undefined) return control.closing === null ? keepEarlyReport(control, said) : control
  const answers = child.owes.some(({ callId }) => said.invocations.includes(callId))
  // A call is answered once, so a report that answers one counts whatever its number is (T7).
  if (!answers && said.report <= child.reports) return control
  if (!answers && said.report > child.reports + REPORT_GAP)
    return withWarning(
      control,
      'report_skipped',
      'A report that answers no call is far ahead of the last one.',
    )
  const left = child.owes.filter(({ callId }) => !said.invocations.includes(callId))
  // A child that is not resumable sends one report, which answers its one call: another one is forged, and skipped (T10).
  if (!child.resumable && left.length > 0) return control
  const counted = { ...child, owes: left, reports: said.report }
  const isEarly = said.invocations.some((id) => !owesCall(child, id))
  const going = { ...(isEarly ? keepEarlyReport(control, said) : control), progressed: true }
  // A child that is not resumable closes with its one report.
  if (said.closes !== true && child.resumable)
    return takeReport(
      changeChild(going, reference, () => counted),
      { said, owes: child.owes },
      now,
    )
  const taken = takeReport(removeChild(going, reference), { said, owes: child.owes }, now)
  return answerByClose(taken, { ...counted, status: 'completed' }, now)
}

/** A child closed without a report: its close status answers once for all calls that it owes. */
export function applyChildClose(
  control: ThreadControl,
  { reference, status }: { readonly reference: string; readonly status: string },
  now: Millis,
): ThreadControl {
  const child = findChild(control, reference)
  if (child === undefined) return control
  const gone = { ...removeChild(control, reference), progressed: true }
  if (child.owes.length === 0) return recordClosedChild(gone, { reference, status })
  return answerByClose(gone, { ...child, status }, now)
}

/** Queues a report that no call takes as an ordinary item, if it has content. */
export function queueReport(
  control: ThreadControl,
  { reference, report }: { readonly reference: string; readonly report: CallReport },
  now: Millis,
): ThreadControl {
  if (report.kind === 'closed') {
    const id = `${OUR_IDS}closed:${reference}`
    const { status } = report
    return enqueue(control, { kind: 'child_closed', id, reference, status, queuedAt: now })
  }
  const id = report.kind === 'timed_out' ? undefined : report.messageId
  return id === undefined ? control : enqueue(control, { kind: 'report', id, queuedAt: now })
}

/** Forgets an open child: it was cancelled, or this thread knows how it ended. */
export function removeChild(control: ThreadControl, reference: string): ThreadControl {
  const children = control.children.filter((child) => child.state !== 'open' || child.reference !== reference)
  return { ...control, children }
}

/** Children whose rows exist, in the order in which they were prepared. */
export function listOpenChildren({ children }: ThreadControl): readonly OpenChild[] {
  return children.filter((child) => child.state === 'open')
}

/** Children that count towards the bound of open ones. */
export function countChildren({ children }: ThreadControl): number {
  return children.filter(({ state }) => state !== 'closed').length
}

function owesCall({ owes }: Pick<OpenChild, 'owes'>, callId: string): boolean {
  return owes.some((owed) => owed.callId === callId)
}

export function changeChild(
  control: ThreadControl,
  reference: string,
  change: (child: OpenChild) => OpenChild,
): ThreadControl {
  const children = control.children.map((child) =>
    child.state === 'open' && child.reference === reference ? change(child) : child,
  )
  return { ...control, children }
}

/** Gives the report to the call that waits for it, counts it for its group, or else makes it an item. */
function takeReport(
  control: ThreadControl,
  { said, owes }: { readonly said: ChildReport; readonly owes: OpenChild['owes'] },
  now: Millis,
): ThreadControl {
  const { reference, invocations, kind, messageId } = said
  const report = { kind, ...(messageId === undefined ? {} : { messageId }) }
  const answered = owes.filter(({ callId }) => invocations.includes(callId))
  const counted = completeGroups(control, answered, now)
  const call = findTakingCall(counted, said, report)
  if (call !== null) return addReport(counted, call, { reference, report })
  const others = invocations.filter(
    (callId) => !answered.some((owed) => owed.callId === callId && owed.isGrouped),
  )
  if (others.length === 0 && invocations.length > 0) return counted
  // Only the bound of the queue limits reports that answer no call (T10).
  const asked = answered.some(({ isGrouped }) => !isGrouped)
  const entry = { kind: 'message', id: messageId ?? '', role: 'user', queuedAt: now } as const
  if (!asked && !hasRoom(counted, entry))
    return withWarning(counted, 'queue_full', 'A report that no call asked for found no room in the queue.')
  return queueReport(counted, { reference, report }, now)
}

interface EndedChild extends Pick<OpenChild, 'reference' | 'owes'> {
  readonly status: string
}

/** Answers with its close status the calls that a closed child owes. */
function answerByClose(control: ThreadControl, child: EndedChild, now: Millis): ThreadControl {
  const { reference, owes, status } = child
  if (owes.length === 0) return control
  const report = { kind: 'closed', status } as const
  const invocations = owes.map(({ callId }) => callId)
  const call = findTakingCall(control, { reference, invocations }, report)
  const answered = call === null ? control : addReport(control, call, { reference, report })
  const counted = completeGroups(answered, owes, now)
  const left = owes.filter(({ callId, isGrouped }) => callId !== call && !isGrouped)
  return left.length > 0 ? queueReport(counted, { reference, report }, now) : counted
}

/** The open child of this reference. A closing thread takes no reports: it cancels its children (T8). */
function findChild(control: ThreadControl, reference: string): OpenChild | undefined {
  if (control.closing !== null) return undefined
  return listOpenChildren(control).find((child) => child.reference === reference)
}

/** No call waits for the child: the next settle writes its close into registry and log, and the model is not offered it any more. */
function recordClosedChild(control: ThreadControl, { reference, status }: ClosedChild): ThreadControl {
  const kept = listClosedChildren(control).slice(1 - LIMITS.closedChildren)
  const others = control.children.filter(
    (child) => child.state !== 'closed' || kept.some((closed) => closed.reference === child.reference),
  )
  return { ...control, children: [...others, { state: 'closed', reference, status }] }
}

/** Children that closed and owed nothing, and that no settle has stored yet. */
export function listClosedChildren({ children }: ThreadControl): readonly ClosedChild[] {
  return children.flatMap((child) =>
    child.state === 'closed' ? [{ reference: child.reference, status: child.status }] : [],
  )
}

/** Forgets closed children after a settle; if the store failed for a day, the next message to such a child finds it closed. */
export function forgetClosedChildren(control: ThreadControl, stored: readonly ClosedChild[]): ThreadControl {
  if (stored.length === 0) return control
  const isStored = (reference: string): boolean => stored.some((child) => child.reference === reference)
  const children = control.children.filter((child) => child.state !== 'closed' || !isStored(child.reference))
  return { ...control, children }
}

export type DeferredAction =
  | { readonly kind: 'startDeferred'; readonly deferred: DeferredChild }
  | { readonly kind: 'expireChild'; readonly deferred: DeferredChild }

/** Keeps the children that a call of a subagent has deferred because they lack variables. */
export function deferChildren(
  control: ThreadControl,
  callId: string,
  operations: readonly ThreadOperation[] | undefined,
  now: Millis,
): ThreadControl {
  const deferred = (operations ?? []).flatMap((operation): readonly DeferredChild[] => {
    if (operation.kind !== 'defer_child') return []
    const { requestId, child, expiresAt } = operation
    return [{ ...child, state: 'deferred', requestId, callId, requestedAt: now, expiresAt, request: 'open' }]
  })
  return {
    ...control,
    children: [...control.children, ...deferred],
    childrenInAll: control.childrenInAll + deferred.length,
  }
}

function findDeferred(
  { children }: ThreadControl,
  request: DeferredChild['request'],
): readonly DeferredChild[] {
  return children.filter((child) => child.state === 'deferred').filter((child) => child.request === request)
}

/** Requests for variables of subagents. */
export function listDeferredRequests({ children }: ThreadControl): readonly PendingItem<Millis>[] {
  return children.flatMap((child): readonly PendingItem<Millis>[] => {
    if (child.state !== 'deferred' || child.request === 'supplied') return []
    const { requestId: id, requestedAt } = child
    return [{ id, kind: 'variables', toolName: null, requestedAt }]
  })
}

/** The next action for a deferred child: one whose variables have come starts first. */
export function nextDeferredAction(control: ThreadControl): DeferredAction | null {
  const [supplied] = findDeferred(control, 'supplied')
  if (supplied !== undefined) return { kind: 'startDeferred', deferred: supplied }
  const [expired] = findDeferred(control, 'expired')
  return expired === undefined ? null : { kind: 'expireChild', deferred: expired }
}

/** The request for variables is answered: the child is to be started. */
export function supplyDeferred(control: ThreadControl, requestId: string): ThreadControl {
  return changeDeferred(control, requestId, (child) => ({ ...child, request: 'supplied' }))
}

/** The child starts next: it owes an answer from now on, for its report may come before its started event. */
export function openDeferred(control: ThreadControl, child: DeferredChild, now: Millis): ThreadControl {
  const { children } = removeDeferred(control, child.requestId)
  return { ...control, children: [...children, createOpenChild(child, child.callId, now)], progressed: true }
}

/** The deferred child has started. */
export function applyDeferredStart(
  control: ThreadControl,
  { reference }: DeferredChild,
  seen: Parameters<typeof setObserved>[2],
): ThreadControl {
  return { ...setObserved(control, reference, seen), progressed: true }
}

/** The time at which the next deferred child expires, or null. */
export function nextExpiryAt(control: ThreadControl): number | null {
  const times = findDeferred(control, 'open').map(({ expiresAt }) => expiresAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Marks the deferred children whose time is over. */
export function markExpiredDeferred(control: ThreadControl, now: Millis): ThreadControl {
  const due = findDeferred(control, 'open').filter(({ expiresAt }) => expiresAt <= now)
  return due.reduce(
    (next, { requestId }) => changeDeferred(next, requestId, (child) => ({ ...child, request: 'expired' })),
    control,
  )
}

/** The child has expired in the store, with a message for this thread; without one, its variables came in time, and it starts. */
export function applyChildExpiry(
  control: ThreadControl,
  requestId: string,
  messageId: string | null,
  now: Millis,
): ThreadControl {
  if (messageId === null) return supplyDeferred(control, requestId)
  const without = removeDeferred(control, requestId)
  return enqueue(without, { kind: 'report', id: messageId, queuedAt: now })
}

/** The expiry could not be stored for a day: it is tried again later. */
export function postponeExpiry(control: ThreadControl, requestId: string, now: Millis): ThreadControl {
  const expiresAt = now + LIMITS.childCheckLast
  return changeDeferred(control, requestId, (child) => ({
    ...child,
    request: child.request === 'expired' ? 'open' : child.request,
    expiresAt,
  }))
}

function removeDeferred(control: ThreadControl, requestId: string): ThreadControl {
  const children = control.children.filter(
    (child) => child.state !== 'deferred' || child.requestId !== requestId,
  )
  return { ...control, children, progressed: true }
}

function changeDeferred(
  control: ThreadControl,
  requestId: string,
  change: (child: DeferredChild) => DeferredChild,
): ThreadControl {
  const isIt = (child: Child): child is DeferredChild =>
    child.state === 'deferred' && child.requestId === requestId
  if (!control.children.some(isIt)) return control
  const children = control.children.map((child) => (isIt(child) ? change(child) : child))
  return { ...control, children, progressed: true }
}

/** Groups these children for a call that does not wait: one item answers it when all have ended, at once if all have. */
export function awaitGroup(
  control: ThreadControl,
  { callId, references }: { readonly callId: string; readonly references: readonly string[] },
  now: Millis,
): ThreadControl {
  if (references.length === 0) return enqueue(control, { kind: 'group', id: callId, queuedAt: now })
  return references.reduce(
    (next, reference) =>
      changeChild(next, reference, (child) => ({
        ...child,
        owes: [{ callId, isGrouped: true }, ...child.owes.filter((owed) => owed.callId !== callId)],
      })),
    control,
  )
}

/** Whether children of a group still owe this call. */
export function hasGroup(control: ThreadControl, callId: string): boolean {
  return listOpenChildren(control).some(({ owes }) =>
    owes.some((owed) => owed.callId === callId && owed.isGrouped),
  )
}

/** Queues the item of each group whose last child has answered. */
function completeGroups(control: ThreadControl, answered: OpenChild['owes'], now: Millis): ThreadControl {
  return answered
    .filter(({ callId, isGrouped }) => isGrouped && !hasGroup(control, callId))
    .reduce((next, { callId }) => enqueue(next, { kind: 'group', id: callId, queuedAt: now }), control)
}

/** The time of the next check of children whose close event does not reach this Temporal run, or null. */
export function nextCheckAt(control: ThreadControl): number | null {
  const times = listOpenChildren(control)
    .filter(needsCheck(control))
    .map((child) => child.nextCheckAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Children to check now. */
export function listChildrenToCheck(control: ThreadControl, now: Millis): readonly string[] {
  return listOpenChildren(control)
    .filter(needsCheck(control))
    .filter(({ nextCheckAt }) => nextCheckAt <= now)
    .map((child) => child.reference)
}

/** The numbers of the last reports taken from these children. */
export function listReportNumbers(control: ThreadControl, references: readonly string[]): readonly number[] {
  const open = listOpenChildren(control)
  return references.map((wanted) => open.find(({ reference }) => reference === wanted)?.reports ?? 0)
}

/** Applies a check: closed children are answered for, and the others are checked again later. */
export function applyChildChecks(
  control: ThreadControl,
  checked: readonly string[],
  closed: readonly { readonly reference: string; readonly status: string }[],
  now: Millis,
): ThreadControl {
  const children = control.children.map((child) =>
    child.state === 'open' && checked.includes(child.reference) ? postponeCheck(child, now) : child,
  )
  // Checks add to the history too: as progress they let the thread continue as new.
  const counted: ThreadControl = {
    ...control,
    children,
    childChecks: control.childChecks + 1,
    progressed: true,
  }
  return closed.reduce<ThreadControl>((next, child) => applyChildClose(next, child, now), counted)
}

/** A child that owes nothing is checked only where the next child would be refused, a few times; else a message to it finds out. */
function needsCheck(control: ThreadControl): (child: OpenChild) => boolean {
  const isFull = countChildren(control) >= LIMITS.openChildren
  return ({ observed, owes, checks }) =>
    !observed && (owes.length > 0 || (isFull && checks < LIMITS.childChecksAtFirst))
}

function postponeCheck(child: OpenChild, now: Millis): OpenChild {
  const checks = child.checks + 1
  const doublings = Math.max(0, checks - LIMITS.childChecksAtFirst + 1)
  const delay = Math.min(LIMITS.childCheckFirst * 2 ** doublings, LIMITS.childCheckLast)
  return { ...child, checks, nextCheckAt: now + delay }
}

/** The call that takes the report of this child, or null. The close of a child also answers the call whose message it did not get. */
function findTakingCall(
  control: ThreadControl,
  { reference, invocations }: { readonly reference: string; readonly invocations: readonly string[] },
  { kind }: CallReport,
): string | null {
  const taking = listCalls(stepOf(control.run)?.calls ?? []).find((call) => {
    if (call.state !== 'prepared' && call.state !== 'addressed' && call.state !== 'waiting') return false
    const waits = call.wait.blocking || (call.state === 'addressed' && kind === 'closed')
    return waits && invocations.includes(call.id) && listMissing(call.wait).includes(reference)
  })
  return taking?.id ?? null
}
