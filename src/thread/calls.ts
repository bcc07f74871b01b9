/**
 * The calls of a step with those of its frames: a tree.
 *
 * It owns: how a call of the tree is found and changed. It does not own: the states of a call (`run.ts`).
 * Invariant: one call of the tree is in flight at a time, the innermost one that is not done (T1).
 */
import { utf8Length } from '../protocol/values.js'
import type { ThreadControl } from './control.js'
import { changeStepOf, stepOf } from './run.js'
import type { Call, CalledTool, Step } from './run.js'

/** A call and the prompts that were called as tools on the way to it. */
export interface CallPlace {
  readonly call: Call
  readonly frames: readonly string[]
}

/** The innermost call that is not done. A framed one whose own calls are done is to be completed. */
export function callInFlight(calls: readonly Call[], frames: readonly string[] = []): CallPlace | null {
  const call = calls.find(({ state }) => state !== 'done')
  if (call === undefined) return null
  const inner = call.state === 'framed' ? callInFlight(call.calls, [...frames, call.prompt]) : null
  return inner ?? { call, frames }
}

/** Where it is among the calls of its step, whose phases the first and the last one mark; a nested one, or a tool of the inbox, is not. */
export function placeInStep(
  { calls, outside }: Pick<Step, 'calls' | 'outside'>,
  { id }: Pick<Call, 'id'>,
): { readonly isFirst: boolean; readonly isLast: boolean } {
  const index = outside ? -1 : calls.findIndex((call) => call.id === id)
  return { isFirst: index === 0, isLast: index !== -1 && index === calls.length - 1 }
}

/** Every call of the tree. */
export function allCalls(calls: readonly Call[]): readonly Call[] {
  return calls.flatMap((call) => (call.state === 'framed' ? [call, ...allCalls(call.calls)] : [call]))
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

/** What stays of a call when its state changes. */
export function calledTool({ id, name, queued, tool }: Call): CalledTool {
  return { id, name, ...(queued === undefined ? {} : { queued }), ...(tool === undefined ? {} : { tool }) }
}

/** Bytes of the tree as it is carried. */
export function callBytes(calls: readonly Call[]): number {
  return utf8Length(JSON.stringify(calls))
}

function replaceCall(calls: readonly Call[], callId: string, change: (call: Call) => Call): readonly Call[] {
  return calls.map((call) => {
    if (call.id === callId) return change(call)
    return call.state === 'framed' ? { ...call, calls: replaceCall(call.calls, callId, change) } : call
  })
}
