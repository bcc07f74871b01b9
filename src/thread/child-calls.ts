/** Calls that start subagents, or write to them: from what their activities prepared to the wait for the answers. */
import type { PrepareChildAnswer, PrepareMessageAnswer } from '../protocol/child-activities.js'
import type { ChildReport } from '../protocol/messages.js'
import { withinBudget } from './apply.js'
import { calledTool, changeCall, changeStep } from './calls.js'
import { newWait, waitBegins, withReport } from './child-waits.js'
import { acceptReport, changeChild, childClosed, invoked, observed, openChild } from './children.js'
import type { ThreadControl } from './control.js'
import { earlyAnswer, earlyReportsOf } from './early-reports.js'
import { groupLeft } from './groups.js'
import { removed } from './inbox.js'
import { applyOperations } from './operations.js'

type Children = Extract<PrepareChildAnswer, { readonly type: 'children' }>
type Message = Extract<PrepareMessageAnswer, { readonly type: 'message' }>

/** The rows of these children exist: from now on they are owed, and are to be started (T7). */
export function childrenPrepared(
  control: ThreadControl,
  callId: string,
  answer: Children,
  now: number,
): ThreadControl {
  if (control.run?.step == null) return control
  const { children: starting, blocking, group } = answer
  const references = starting.map(({ reference }) => reference)
  const prepared = changeCall(control, callId, (call) => ({
    ...calledTool(call),
    state: 'prepared',
    starting,
    wait: newWait(references, answer),
  }))
  const owing: ThreadControl = {
    ...begun(prepared),
    children: [...control.children, ...starting.map((child) => openChild(child, callId, now))],
    childrenInAll: control.childrenInAll + starting.length,
  }
  const grouped = group && !blocking ? groupLeft(owing, { callId, references }, now) : owing
  const answered = references.reduce((next, reference) => earlyReportsTaken(next, reference, now), grouped)
  return withinBudget(applyOperations(answered, answer.operations, now))
}

/** A child that is known from now on has said this before (T7). */
function earlyReportsTaken(control: ThreadControl, reference: string, now: number): ThreadControl {
  const { early, rest } = earlyReportsOf(control, reference)
  return early.reduce((next, said) => acceptReport(next, said, now), rest)
}

/** A child runs; after the last one the call waits. `isObserved`: its close event will reach this Temporal run. */
export function childStarted(
  control: ThreadControl,
  {
    callId,
    reference,
    isObserved,
  }: { readonly callId: string; readonly reference: string; readonly isObserved: boolean },
  now: number,
): ThreadControl {
  const started = changeCall(observed(control, reference, { isObserved, now }), callId, (call) => {
    if (call.state !== 'prepared') return call
    const starting = call.starting.filter((child) => child.reference !== reference)
    return starting.length > 0 ? { ...call, starting } : waitBegins(call, call.wait, now)
  })
  return { ...started, progressed: true }
}

/** The message is in the child's store: from now on the child owes the call an answer (T7). */
export function messagePrepared(
  control: ThreadControl,
  callId: string,
  answer: Message,
  now: number,
): ThreadControl {
  if (control.run?.step == null) return control
  const { reference, messageId, role } = answer
  const wait = newWait([reference], { ...answer, group: false })
  const addressed = changeCall(control, callId, (call) => ({
    ...calledTool(call),
    state: 'addressed',
    reference,
    messageId,
    role,
    wait,
  }))
  const early = earlyAnswer(control, { reference, callId })
  if (early !== undefined) {
    const { blocking } = answer
    const answered = answeredEarly(begun(addressed), { callId, blocking, early }, now)
    return applyOperations(answered, answer.operations, now)
  }
  const owing = changeChild(begun(addressed), reference, (child) => invoked(child, callId, now))
  const isOpen = control.children.some((child) => child.reference === reference)
  // It closed while its message was written.
  const known = isOpen ? owing : messageLost(owing, { callId, reference, status: 'not_found' }, now)
  return applyOperations(known, answer.operations, now)
}

interface EarlyAnswer {
  readonly callId: string
  readonly blocking: boolean
  readonly early: ChildReport
}

/**
 * The child has had the message and has answered it. A second one would find nothing to do, and be told as a failure. The
 * answer is an item already, unless the call waits for it.
 */
function answeredEarly(
  control: ThreadControl,
  { callId, blocking, early }: EarlyAnswer,
  now: number,
): ThreadControl {
  const { reference, kind, messageId } = early
  const report = { kind, ...(messageId === undefined ? {} : { messageId }) }
  const answered = changeCall(control, callId, (call) => {
    if (call.state !== 'addressed') return call
    return waitBegins(call, blocking ? { ...call.wait, reports: [{ reference, report }] } : call.wait, now)
  })
  return blocking && messageId !== undefined ? removed(answered, 'report', messageId) : answered
}

/** The child has the message; the call waits, or is done with it. */
export function messageSent(control: ThreadControl, callId: string, now: number): ThreadControl {
  const sent = changeCall(control, callId, (call) =>
    call.state === 'addressed' ? waitBegins(call, call.wait, now) : call,
  )
  return { ...sent, progressed: true }
}

/** The child is gone: its call learns that, whether it waits or not. */
export function messageLost(
  control: ThreadControl,
  lost: { readonly callId: string; readonly reference: string; readonly status: string },
  now: number,
): ThreadControl {
  const { callId, reference, status } = lost
  // Where its close came first, the call has that already.
  return withReport(childClosed(control, lost, now), callId, {
    reference,
    report: { kind: 'closed', status },
  })
}

/** Its activity has marked the phase. */
function begun(control: ThreadControl): ThreadControl {
  return { ...changeStep(control, (step) => ({ ...step, phase: 5 })), progressed: true }
}
