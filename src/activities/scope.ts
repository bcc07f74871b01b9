import type { CallInput } from '../protocol/activities.js'
import type { EventScope } from '../protocol/events.js'
import { phaseFact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { toMicros } from '../protocol/time.js'
import type { Micros, Millis } from '../protocol/time.js'
import type { ToolCallRecord } from '../store/calls/tool-calls.js'

export function stepScope({ run, step }: { readonly run: number; readonly step: number }): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step) }
}

/** The time of an activity's input in the unit of the store. */
export function microseconds(input: { readonly now: Millis }): Micros {
  return toMicros(input.now)
}

/** The part of a call's input that its transactions need. */
export type HeldInput = Pick<
  CallInput,
  'threadId' | 'callId' | 'run' | 'step' | 'side' | 'now' | 'facts' | 'queued' | 'first' | 'last'
>

export function callScope(input: Pick<HeldInput, 'run' | 'step' | 'callId'>): EventScope {
  return { ...stepScope(input), toolCallId: input.callId }
}

/** The first call of a step begins phase 5; nested steps have no phases of their own. */
export function phaseFive(
  input: HeldInput,
  { parent_call_id: parent }: Pick<ToolCallRecord, 'parent_call_id'>,
): readonly Fact[] {
  return input.first && parent === null ? [phaseFact(5, stepScope(input))] : []
}
