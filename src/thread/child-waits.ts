/**
 * What a call of subagents waits for.
 *
 * It owns: which children have not answered a call, and when the call goes on. It does not own: when a wait ends early
 * (`child-calls.ts`).
 * Invariant: at most one call waits, because one call is in flight (T1). It is completed only by reports that name it, by
 * closes, and by its timeout.
 */
import type { CallReport } from '../protocol/status.js'
import { allCalls, calledTool, changeCall } from './calls.js'
import type { ThreadControl } from './control.js'
import { stepOf } from './run.js'
import type { Call, CallIn, ChildWait } from './run.js'
import type { Millis } from '../protocol/time.js'

/** A child and what it, or its end, says to a call. */
export interface ChildAnswer {
  readonly reference: string
  readonly report: CallReport
}

export function newWait(
  references: readonly string[],
  asked: { readonly blocking: boolean; readonly group: boolean; readonly timeout?: number },
): ChildWait {
  const { blocking, group, timeout = null } = asked
  return { references, blocking, group, timeout, deadline: null, reports: [], stopped: [] }
}

/** Children whose answer a call waits for. */
export function missingFrom({ references, reports }: ChildWait): readonly string[] {
  return references.filter((reference) => !reports.some((answer) => answer.reference === reference))
}

/** Nothing is left to start or to send: the call waits, unless it does not, or all have answered. */
export function waitBegins(call: CallIn<'prepared' | 'addressed'>, wait: ChildWait, now: Millis): Call {
  if (!wait.blocking || missingFrom(wait).length === 0)
    return { ...calledTool(call), state: 'reported', wait }
  const deadline = wait.timeout === null ? null : now + wait.timeout
  return { ...calledTool(call), state: 'waiting', wait: { ...wait, deadline } }
}

/** The call that takes what the child says, or null. A message that cannot be sent is learned of by its own call. */
export function callTaking(
  control: ThreadControl,
  { reference, invocations }: { readonly reference: string; readonly invocations: readonly string[] },
  { kind }: CallReport,
): string | null {
  const taking = allCalls(stepOf(control.run)?.calls ?? []).find((call) => {
    if (call.state !== 'prepared' && call.state !== 'addressed' && call.state !== 'waiting') return false
    const waits = call.wait.blocking || (call.state === 'addressed' && kind === 'closed')
    return waits && invocations.includes(call.id) && missingFrom(call.wait).includes(reference)
  })
  return taking?.id ?? null
}

/** The call has this answer; with the last one it goes on. */
export function withReport(control: ThreadControl, callId: string, answer: ChildAnswer): ThreadControl {
  const changed = changeCall(control, callId, (call) => {
    if (call.state !== 'prepared' && call.state !== 'addressed' && call.state !== 'waiting') return call
    const wait = { ...call.wait, reports: [...call.wait.reports, answer] }
    // What is still to be started or sent is started or sent; to a closed child nothing is.
    const goesOn = call.state === 'waiting' || (call.state === 'addressed' && answer.report.kind === 'closed')
    if (!goesOn || missingFrom(wait).length > 0) return { ...call, wait }
    return { ...calledTool(call), state: 'reported', wait }
  })
  return { ...changed, progressed: true }
}

/** Children to which the interrupt of a run goes on. */
export function childrenToStop(call: Call): readonly string[] {
  if (call.state !== 'waiting') return []
  return missingFrom(call.wait).filter((reference) => !call.wait.stopped.includes(reference))
}

/** The interrupt was passed on. */
export function stopForwarded(
  control: ThreadControl,
  callId: string,
  references: readonly string[],
): ThreadControl {
  return changeCall(control, callId, (call) => {
    if (call.state !== 'waiting') return call
    return { ...call, wait: { ...call.wait, stopped: [...call.wait.stopped, ...references] } }
  })
}
