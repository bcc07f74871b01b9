/**
 * Calls that start subagents or write to them: from the prepared rows, through the wait for answers, to the end of that wait
 * by a timeout or by the end of the run.
 *
 * It owns: the states of such a call. It does not own: the children themselves (`children.ts`).
 * Invariants: a child whose rows exist is owed an answer and is always started (T7). An answer that a call does not take is an
 * item of the inbox (T7).
 */
import type { Millis } from '../protocol/time.js'
import type { PrepareChildAnswer, PrepareMessageAnswer } from '../protocol/activities.js'
import type { ChildReport } from '../protocol/messages.js'
import { enforceStepBudget } from './apply.js'
import { listCalls, pickCallBase, changeCall, changeStep, listMissing, addReport } from './calls.js'
import type { ChildAnswer } from './calls.js'
import {
  acceptReport,
  awaitGroup,
  changeChild,
  applyChildClose,
  hasGroup,
  addOwedCall,
  setObserved,
  createOpenChild,
  listOpenChildren,
  queueReport,
  removeChild,
} from './children.js'
import type { ThreadControl } from './control.js'
import { removeItem } from './inbox.js'
import { applyOperations } from './operations.js'
import { findEarlyAnswer, takeEarlyReports } from './reset.js'
import { stepOf } from './run.js'
import type { Call, CallIn, ChildWait } from './run.js'

type Children = Extract<PrepareChildAnswer, { readonly type: 'children' }>

type Message = Extract<PrepareMessageAnswer, { readonly type: 'message' }>

/** The rows of these children exist: from now on each owes an answer, and is to be started (T7). */
export function applyPreparedChildren(
  control: ThreadControl,
  callId: string,
  answer: Children,
  now: Millis,
): ThreadControl {
  if (stepOf(control.run) === null) return control
  const { children: starting, blocking, group } = answer
  const references = starting.map(({ reference }) => reference)
  const prepared = changeCall(control, callId, (call) => ({
    ...pickCallBase(call),
    state: 'prepared',
    starting,
    wait: createWait(references, answer),
  }))
  const owing: ThreadControl = {
    ...markStepBegun(prepared),
    children: [...control.children, ...starting.map((child) => createOpenChild(child, callId, now))],
    childrenInAll: control.childrenInAll + starting.length,
  }
  const grouped = group && !blocking ? awaitGroup(owing, { callId, references }, now) : owing
  const answered = references.reduce((next, reference) => acceptEarlyReports(next, reference, now), grouped)
  return enforceStepBudget(applyOperations(answered, answer.operations, now))
}

/** Accepts the reports that a child sent before its call was known (T7). */
function acceptEarlyReports(control: ThreadControl, reference: string, now: Millis): ThreadControl {
  const { early, rest } = takeEarlyReports(control, reference)
  return early.reduce((next, said) => acceptReport(next, said, now), rest)
}

/** A child runs; after the last one the call waits. `isObserved`: its close event will reach this Temporal run. */
export function applyChildStart(
  control: ThreadControl,
  {
    callId,
    reference,
    isObserved,
  }: { readonly callId: string; readonly reference: string; readonly isObserved: boolean },
  now: Millis,
): ThreadControl {
  const started = changeCall(setObserved(control, reference, { isObserved, now }), callId, (call) => {
    if (call.state !== 'prepared') return call
    const starting = call.starting.filter((child) => child.reference !== reference)
    return starting.length > 0 ? { ...call, starting } : beginWait(call, call.wait, now)
  })
  return { ...started, progressed: true }
}

/** The message is in the child's store: from now on the child owes the call an answer (T7). */
export function applyPreparedMessage(
  control: ThreadControl,
  callId: string,
  answer: Message,
  now: Millis,
): ThreadControl {
  if (stepOf(control.run) === null) return control
  const { reference, messageId, role } = answer
  const wait = createWait([reference], { ...answer, group: false })
  const addressed = changeCall(control, callId, (call) => ({
    ...pickCallBase(call),
    state: 'addressed',
    reference,
    messageId,
    role,
    wait,
  }))
  const early = findEarlyAnswer(control, { reference, callId })
  if (early !== undefined) {
    const { blocking } = answer
    const answered = takeEarlyAnswer(markStepBegun(addressed), { callId, blocking, early }, now)
    return applyOperations(answered, answer.operations, now)
  }
  const owing = changeChild(markStepBegun(addressed), reference, (child) => addOwedCall(child, callId, now))
  const isOpen = listOpenChildren(control).some((child) => child.reference === reference)
  // The child closed while its message was written.
  const known = isOpen ? owing : onMessageLost(owing, { callId, reference, status: 'not_found' }, now)
  return applyOperations(known, answer.operations, now)
}

interface EarlyAnswer {
  readonly callId: string
  readonly blocking: boolean
  readonly early: ChildReport
}

/**
 * The child has received the message and answered it before. Sent again, the message would find nothing to do, and the child
 * would report a failure. The answer is an item of the inbox already, unless the call waits for it.
 */
function takeEarlyAnswer(
  control: ThreadControl,
  { callId, blocking, early }: EarlyAnswer,
  now: Millis,
): ThreadControl {
  const { reference, kind, messageId } = early
  const report = { kind, ...(messageId === undefined ? {} : { messageId }) }
  const answered = changeCall(control, callId, (call) => {
    if (call.state !== 'addressed') return call
    return beginWait(call, blocking ? { ...call.wait, reports: [{ reference, report }] } : call.wait, now)
  })
  return blocking && messageId !== undefined ? removeItem(answered, 'report', messageId) : answered
}

/** The child has the message: the call waits now, or is done. */
export function onMessageSent(control: ThreadControl, callId: string, now: Millis): ThreadControl {
  const sent = changeCall(control, callId, (call) =>
    call.state === 'addressed' ? beginWait(call, call.wait, now) : call,
  )
  return { ...sent, progressed: true }
}

/** The child is gone: that answers its call, whether the call waits or not. */
export function onMessageLost(
  control: ThreadControl,
  lost: { readonly callId: string; readonly reference: string; readonly status: string },
  now: Millis,
): ThreadControl {
  const { callId, reference, status } = lost
  // If the close of the child came first, it has answered the call already.
  return addReport(applyChildClose(control, lost, now), callId, {
    reference,
    report: { kind: 'closed', status },
  })
}

/** The activity of the call has marked phase 5. */
function markStepBegun(control: ThreadControl): ThreadControl {
  return { ...changeStep(control, (step) => ({ ...step, phase: 5 })), progressed: true }
}

/** Ends the wait of the call if its deadline has passed. */
export function expireWait(control: ThreadControl, callId: string, now: Millis): ThreadControl {
  const call = listCalls(stepOf(control.run)?.calls ?? []).find(({ id }) => id === callId)
  if (call?.state !== 'waiting' || call.wait.deadline === null || call.wait.deadline > now) return control
  const missing = listMissing(call.wait)
  const resumable = missing.filter((reference) => isResumable(control, reference))
  // A cancelled child still reports. Its call has an answer by then, so the thread forgets the child and skips that report.
  const cancelled = missing.filter((reference) => !resumable.includes(reference))
  const left = cancelled.reduce(removeChild, { ...control, progressed: true })
  const expired = changeCall(left, call.id, (waiting) => ({
    ...pickCallBase(waiting),
    state: 'reported',
    wait: timeOutWait(call.wait, missing, resumable),
  }))
  // These children end later: the group counts their ends, which become no items of their own.
  if (!call.wait.group || resumable.length === 0) return expired
  return awaitGroup(expired, { callId: call.id, references: resumable }, now)
}

/** Children whose call has timed out and that have not been cancelled yet. */
export function listChildrenToCancel(call: Call): readonly string[] {
  if (call.state !== 'reported') return []
  return call.wait.reports
    .filter(({ report, reference }) => report.kind === 'timed_out' && !call.wait.stopped.includes(reference))
    .map(({ reference }) => reference)
}

/** Remembers that the child was cancelled, or is gone already. */
export function markChildCancelled(control: ThreadControl, callId: string, reference: string): ThreadControl {
  return changeCall(control, callId, (call) =>
    call.state === 'reported'
      ? { ...call, wait: { ...call.wait, stopped: [...call.wait.stopped, reference] } }
      : call,
  )
}

/** Interrupts the wait with its run: the answers that the call has become items, and so do those that come later. */
export function interruptWait(control: ThreadControl, call: Call, now: Millis): ThreadControl {
  if (call.state !== 'waiting' && call.state !== 'reported') return control
  const { group, blocking, reports } = call.wait
  if (!group)
    return reports.reduce((next, answer) => queueReport(next, finalAnswerOf(control, answer), now), control)
  const missing = listMissing(call.wait)
  if (!blocking || hasGroup(control, call.id)) return control
  return awaitGroup(control, { callId: call.id, references: missing }, now)
}

/** A child that was cancelled at its timeout counts as closed; a resumable one still owes its answer. */
function finalAnswerOf(control: ThreadControl, { reference, report }: ChildAnswer): ChildAnswer {
  const isEnded = report.kind === 'timed_out' && !isResumable(control, reference)
  return { reference, report: isEnded ? { kind: 'closed', status: 'canceled' } : report }
}

function timeOutWait(wait: ChildWait, missing: readonly string[], resumable: readonly string[]): ChildWait {
  const report = { kind: 'timed_out' } as const
  const reports = [...wait.reports, ...missing.map((reference) => ({ reference, report }))]
  return { ...wait, reports, stopped: resumable }
}

function isResumable(control: ThreadControl, reference: string): boolean {
  return listOpenChildren(control).some((child) => child.reference === reference && child.resumable)
}

function createWait(
  references: readonly string[],
  asked: { readonly blocking: boolean; readonly group: boolean; readonly timeout?: number },
): ChildWait {
  const { blocking, group, timeout = null } = asked
  return { references, blocking, group, timeout, deadline: null, reports: [], stopped: [] }
}

/** All is started and sent: a blocking call waits now, unless all children have answered. */
function beginWait(call: CallIn<'prepared' | 'addressed'>, wait: ChildWait, now: Millis): Call {
  if (!wait.blocking || listMissing(wait).length === 0)
    return { ...pickCallBase(call), state: 'reported', wait }
  const deadline = wait.timeout === null ? null : now + wait.timeout
  return { ...pickCallBase(call), state: 'waiting', wait: { ...wait, deadline } }
}
