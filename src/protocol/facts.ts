import type { JsonObject } from './values.js'

/** What an event is about, where it applies. */
export interface EventScope {
  readonly runId?: string
  readonly stepId?: string
  readonly messageId?: string
  readonly toolCallId?: string
  readonly childId?: string
}

/** Something the workflow decided, on its way into the event log: ids, registered names and numbers, never text (T5). */
export interface Fact {
  readonly type: string
  readonly scope?: EventScope
  readonly payload?: JsonObject
}

/** The seven phases of a step; each is marked in every step, in this order, also when it had nothing to do. */
export const PHASES = {
  1: 'drain',
  2: 'assemble_context',
  3: 'call_model',
  4: 'persist_answer',
  5: 'execute_tools',
  6: 'persist_results',
  7: 'stop_conditions',
} as const

export type Phase = keyof typeof PHASES

export function phaseFact(phase: Phase, scope: EventScope): Fact {
  return { type: 'step.phase', scope, payload: { phase, name: PHASES[phase] } }
}
