/**
 * The children of a thread: open ones, and those that owe an answer. T7: however a child ends, its parent learns it
 * exactly once: by its report, by its close event in the run that started it, or, after continue-as-new, because it is
 * looked for.
 */
import type { CallReport, PreparedChild } from '../protocol/child-activities.js'
import type { ClosedChild } from '../protocol/end-activities.js'
import { LIMITS } from '../protocol/limits.js'
import { OUR_IDS } from '../protocol/messages.js'
import { childReportProblem } from '../protocol/message-problems.js'
import type { ChildReport } from '../protocol/messages.js'
import { callTaking, withReport } from './child-waits.js'
import type { OpenChild, ThreadControl } from './control.js'
import { earlyReportKept } from './early-reports.js'
import { withWarning } from './facts.js'
import { childCounted, isCounted } from './groups.js'
import { askedIfLetIn, enqueue, hasRoom } from './inbox.js'

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
    return withWarning(
      askedIfLetIn(counted, entry),
      'queue_full',
      'A report that no call asked for found no room in the queue.',
    )
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
