/**
 * The calls of a step with those of its frames: a tree; and the children that a call waits for.
 *
 * It owns: how a call of the tree is found and changed, which children have not answered a call, and when the call goes on.
 * It does not own: the states of a call (`run.ts`), and when a wait ends early (`child-calls.ts`).
 * Invariants: one call of the tree is in flight at a time, the innermost one that is not done, so at most one call waits (T1).
 * A wait is completed only by reports that name its call, by closes, and by its timeout.
 */
import type { ThreadControl } from './control.js'
import { changeStepOf, stepOf } from './run.js'
import type { Call, ChildWait, Step } from './run.js'
import type { CallReport } from '../protocol/status.js'

/** A call and the prompts that were called as tools on the way to it. */
interface CallPlace {
  readonly call: Call
  readonly frames: readonly string[]
}

/** The innermost call that is not done. A framed call whose nested calls are done comes next itself: it is to be completed. */
export function findCallInFlight(calls: readonly Call[], frames: readonly string[] = []): CallPlace | null {
  const call = calls.find(({ state }) => state !== 'done')
  if (call === undefined) return null
  const inner = call.state === 'framed' ? findCallInFlight(call.calls, [...frames, call.prompt]) : null
  return inner ?? { call, frames }
}

/** The place of a call in its step: the first and last call mark phases. A nested call, or a tool of the inbox, has no place. */
export function locateInStep(
  { calls, outside }: Pick<Step, 'calls' | 'outside'>,
  { id }: Pick<Call, 'id'>,
): { readonly isFirst: boolean; readonly isLast: boolean } {
  const index = outside ? -1 : calls.findIndex((call) => call.id === id)
  return { isFirst: index === 0, isLast: index !== -1 && index === calls.length - 1 }
}

/** Every call of the tree. */
export function listCalls(calls: readonly Call[]): readonly Call[] {
  return calls.flatMap((call) => (call.state === 'framed' ? [call, ...listCalls(call.calls)] : [call]))
}

/** Changes the call of this id, wherever in the tree it is. */
export function changeCall(
  control: ThreadControl,
  callId: string,
  change: (call: Call) => Call,
): ThreadControl {
  return changeStep(control, (step) => ({ ...step, calls: replaceCall(step.calls, callId, change) }))
}

/** Changes the step in flight, if there is one. */
export function changeStep(control: ThreadControl, change: (step: Step) => Step): ThreadControl {
  const { run } = control
  if (stepOf(run) === null || run === null) return control
  return { ...control, run: changeStepOf(run, change) }
}

/** The fields that stay of a call when its state changes. */
export function pickCallBase({
  id,
  name,
  queued,
  tool,
}: Call): Pick<Call, 'id' | 'name' | 'queued' | 'tool'> {
  return { id, name, ...(queued === undefined ? {} : { queued }), ...(tool === undefined ? {} : { tool }) }
}

function replaceCall(calls: readonly Call[], callId: string, change: (call: Call) => Call): readonly Call[] {
  return calls.map((call) => {
    if (call.id === callId) return change(call)
    return call.state === 'framed' ? { ...call, calls: replaceCall(call.calls, callId, change) } : call
  })
}

/** A child, and the report or close that answers a call. */
export interface ChildAnswer {
  readonly reference: string
  readonly report: CallReport
}

/** Children whose answer a call waits for. */
export function listMissing({ references, reports }: ChildWait): readonly string[] {
  return references.filter((reference) => !reports.some((answer) => answer.reference === reference))
}

/** Adds an answer to the call, which goes on when it has all of them. */
export function addReport(control: ThreadControl, callId: string, answer: ChildAnswer): ThreadControl {
  const changed = changeCall(control, callId, (call) => {
    if (call.state !== 'prepared' && call.state !== 'addressed' && call.state !== 'waiting') return call
    const wait = { ...call.wait, reports: [...call.wait.reports, answer] }
    // Children are still started, and a message still sent, before the call goes on; a closed child gets no message.
    const goesOn = call.state === 'waiting' || (call.state === 'addressed' && answer.report.kind === 'closed')
    if (!goesOn || listMissing(wait).length > 0) return { ...call, wait }
    return { ...pickCallBase(call), state: 'reported', wait }
  })
  return { ...changed, progressed: true }
}

/** Children to which the stop of a run is to be forwarded. */
export function listChildrenToStop(call: Call): readonly string[] {
  if (call.state !== 'waiting') return []
  return listMissing(call.wait).filter((reference) => !call.wait.stopped.includes(reference))
}

/** Remembers that the stop was forwarded to these children. */
export function markStopForwarded(
  control: ThreadControl,
  callId: string,
  references: readonly string[],
): ThreadControl {
  return changeCall(control, callId, (call) => {
    if (call.state !== 'waiting') return call
    return { ...call, wait: { ...call.wait, stopped: [...call.wait.stopped, ...references] } }
  })
}
