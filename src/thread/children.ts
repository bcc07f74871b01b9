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

/** The child is to answer one more call. It takes them in order: the newest ones tell whether it owes, and those
 * of a group stay, for the group waits for all. */
export function addOwedCall(child: OpenChild, callId: string, now: Millis): OpenChild {
  const others = child.owes.filter((owed) => owed.callId !== callId)
  const single = [...others.filter(({ isGrouped }) => !isGrouped), { callId, isGrouped: false }]
  const grouped = others.filter(({ isGrouped }) => isGrouped)
  const owes = [...grouped, ...single.slice(-LIMITS.invocationsPerChild)]
  return { ...child, owes, checks: 0, nextCheckAt: now + LIMITS.childCheckFirst }
}

/**
 * Whether its close event will reach this Temporal run. One that ran before it was started is looked for at once: after a
 * reset it may have said all that it had to say.
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

/** Takes a `childReport` signal. A number that was taken is a duplicate; a child that is not open was answered for. */
export function acceptReport(control: ThreadControl, input: unknown, now: Millis): ThreadControl {
  const problem = childReportProblem(input)
  if (problem !== undefined) return withWarning(control, 'report_skipped', problem)
  const said = input as ChildReport
  const { reference } = said
  const child = findChild(control, reference)
  if (child === undefined) return control.closing === null ? keepEarlyReport(control, said) : control
  const answers = child.owes.some(({ callId }) => said.invocations.includes(callId))
  // A call is answered once, so that the number of a report that answers one is right, whatever was said before (T7).
  if (!answers && said.report <= child.reports) return control
  if (!answers && said.report > child.reports + REPORT_GAP)
    return withWarning(
      control,
      'report_skipped',
      'A report that answers no call is far ahead of the last one.',
    )
  const left = child.owes.filter(({ callId }) => !said.invocations.includes(callId))
  // The one report of such a child answers the one call that it has; whatever else looks like it answers nothing (T10).
  if (!child.resumable && left.length > 0) return control
  const counted = { ...child, owes: left, reports: said.report }
  const isEarly = said.invocations.some((id) => !owesCall(child, id))
  const going = { ...(isEarly ? keepEarlyReport(control, said) : control), progressed: true }
  // A child that is not resumable says one thing.
  if (said.closes !== true && child.resumable)
    return takeReport(
      changeChild(going, reference, () => counted),
      { said, owes: child.owes },
      now,
    )
  const told = takeReport(removeChild(going, reference), { said, owes: child.owes }, now)
  return answerByClose(told, { ...counted, status: 'completed' }, now)
}

/** A child closed without a report: what it owes is answered for once, with its close status. */
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

/** No call takes the report, or takes it any more: it is an ordinary item, if it says anything. */
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

/** The child answers for nothing any more: it was cancelled, or its parent knows how it ended. */
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

/** The call that waits for it takes it; a child of a group counts towards its group; what is left is an item. */
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
  // What nobody asked for has no bound but that of the queue (T10).
  const asked = answered.some(({ isGrouped }) => !isGrouped)
  const entry = { kind: 'message', id: messageId ?? '', role: 'user', queuedAt: now } as const
  if (!asked && !hasRoom(counted, entry))
    return withWarning(counted, 'queue_full', 'A report that no call asked for found no room in the queue.')
  return queueReport(counted, { reference, report }, now)
}

interface EndedChild extends Pick<OpenChild, 'reference' | 'owes'> {
  readonly status: string
}

/** What a closed child had not answered. */
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

/** Once the thread closes nobody is told any more, and its children are told instead (T8). */
function findChild(control: ThreadControl, reference: string): OpenChild | undefined {
  if (control.closing !== null) return undefined
  return listOpenChildren(control).find((child) => child.reference === reference)
}

/** Nobody waits for it: the registry and the log learn it with the next settle, and the model is offered it no more. */
function recordClosedChild(control: ThreadControl, { reference, status }: ClosedChild): ThreadControl {
  const kept = listClosedChildren(control).slice(1 - LIMITS.closedChildren)
  const others = control.children.filter(
    (child) => child.state !== 'closed' || kept.some((closed) => closed.reference === child.reference),
  )
  return { ...control, children: [...others, { state: 'closed', reference, status }] }
}

/** Children that closed and owed nothing, of which no settle has told yet. */
export function listClosedChildren({ children }: ThreadControl): readonly ClosedChild[] {
  return children.flatMap((child) =>
    child.state === 'closed' ? [{ reference: child.reference, status: child.status }] : [],
  )
}

/** A settle has told of these; where the store failed for a day, whoever writes to them finds out. */
export function forgetClosedChildren(control: ThreadControl, told: readonly ClosedChild[]): ThreadControl {
  if (told.length === 0) return control
  const isTold = (reference: string): boolean => told.some((child) => child.reference === reference)
  const children = control.children.filter((child) => child.state !== 'closed' || !isTold(child.reference))
  return { ...control, children }
}

export type DeferredAction =
  | { readonly kind: 'startDeferred'; readonly deferred: DeferredChild }
  | { readonly kind: 'expireChild'; readonly deferred: DeferredChild }

/** What the call of a subagent says when its child lacks variables. */
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

/** What is to be done for them before anything else; one that was answered in time is not looked for. */
export function nextDeferredAction(control: ThreadControl): DeferredAction | null {
  const [supplied] = findDeferred(control, 'supplied')
  if (supplied !== undefined) return { kind: 'startDeferred', deferred: supplied }
  const [expired] = findDeferred(control, 'expired')
  return expired === undefined ? null : { kind: 'expireChild', deferred: expired }
}

/** The request is answered. */
export function supplyDeferred(control: ThreadControl, requestId: string): ThreadControl {
  return changeDeferred(control, requestId, (child) => ({ ...child, request: 'supplied' }))
}

/** It is to be started at once: from now on it is owed, for its report may come before its started event. */
export function openDeferred(control: ThreadControl, child: DeferredChild, now: Millis): ThreadControl {
  const { children } = removeDeferred(control, child.requestId)
  return { ...control, children: [...children, createOpenChild(child, child.callId, now)], progressed: true }
}

/** It runs. */
export function applyDeferredStart(
  control: ThreadControl,
  { reference }: DeferredChild,
  seen: Parameters<typeof setObserved>[2],
): ThreadControl {
  return { ...setObserved(control, reference, seen), progressed: true }
}

/** When the next one expires, or null. */
export function nextExpiryAt(control: ThreadControl): number | null {
  const times = findDeferred(control, 'open').map(({ expiresAt }) => expiresAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Marks those whose time is over. */
export function markExpiredDeferred(control: ThreadControl, now: Millis): ThreadControl {
  const due = findDeferred(control, 'open').filter(({ expiresAt }) => expiresAt <= now)
  return due.reduce(
    (next, { requestId }) => changeDeferred(next, requestId, (child) => ({ ...child, request: 'expired' })),
    control,
  )
}

/** The store has it expired, and the parent is told; without a message it was answered in time, and starts. */
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

/** The store could not be asked for a day: it is asked again. */
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

/** No call waits for these: the call is answered once, when all have ended, at once if all have. */
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

/** Whether children owe this call that are answered for together. */
export function hasGroup(control: ThreadControl, callId: string): boolean {
  return listOpenChildren(control).some(({ owes }) =>
    owes.some((owed) => owed.callId === callId && owed.isGrouped),
  )
}

/** A child has answered these calls, and owes them no more: the last one of a group makes it an item. */
function completeGroups(control: ThreadControl, answered: OpenChild['owes'], now: Millis): ThreadControl {
  return answered
    .filter(({ callId, isGrouped }) => isGrouped && !hasGroup(control, callId))
    .reduce((next, { callId }) => enqueue(next, { kind: 'group', id: callId, queuedAt: now }), control)
}

/** When owed children whose close event cannot be seen have to be looked for, or null. */
export function nextCheckAt(control: ThreadControl): number | null {
  const times = listOpenChildren(control)
    .filter(needsCheck(control))
    .map((child) => child.nextCheckAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Children to look for now. */
export function listChildrenToCheck(control: ThreadControl, now: Millis): readonly string[] {
  return listOpenChildren(control)
    .filter(needsCheck(control))
    .filter(({ nextCheckAt }) => nextCheckAt <= now)
    .map((child) => child.reference)
}

/** Numbers of the last reports that were taken of them. */
export function listReportNumbers(control: ThreadControl, references: readonly string[]): readonly number[] {
  const open = listOpenChildren(control)
  return references.map((wanted) => open.find(({ reference }) => reference === wanted)?.reports ?? 0)
}

/** They were looked for: those that are closed are answered for, the others are looked for again, later. */
export function applyChildChecks(
  control: ThreadControl,
  checked: readonly string[],
  closed: readonly { readonly reference: string; readonly status: string }[],
  now: Millis,
): ThreadControl {
  const children = control.children.map((child) =>
    child.state === 'open' && checked.includes(child.reference) ? postponeCheck(child, now) : child,
  )
  // Looking for them is history too, and must not keep the thread from continuing as new.
  const counted: ThreadControl = {
    ...control,
    children,
    childChecks: control.childChecks + 1,
    progressed: true,
  }
  return closed.reduce<ThreadControl>((next, child) => applyChildClose(next, child, now), counted)
}

/** One that owes nothing is looked for when the next child would be refused, a few times; else whoever writes to it finds out. */
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

/** The call that takes what the child says, or null. A message that cannot be sent is learned of by its own call. */
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
