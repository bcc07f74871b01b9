/** The events of writers. The table of `events.ts` defines the payload of each type. */
import type { EventPayloads, EventScope, EventType, Phase } from './events.js'

/** An event before it is stored: ids, registered names and numbers, never text (T5). */
export type Fact<Type extends EventType = EventType> = {
  [Known in Type]: {
    readonly type: Known
    readonly scope?: EventScope
    readonly payload: EventPayloads[Known]
  }
}[Type]

/** The payload that fits every type of a union. */
type PayloadOfAll<Type extends EventType> = (
  Type extends EventType ? (payload: EventPayloads[Type]) => void : never
) extends (payload: infer Payload) => void
  ? Payload
  : never

/** Makes a fact. At least one call must have each type as a literal, because a test looks for types that nothing emits. */
export function fact<Type extends EventType>(
  type: Type,
  payload: PayloadOfAll<Type>,
  scope?: EventScope,
): Fact<Type>
export function fact(type: string, payload: unknown, scope?: EventScope): object {
  return scope === undefined ? { type, payload } : { type, scope, payload }
}

/** The seven phases of a step. Every step marks all of them, in this order, including those with nothing to do. */
export const PHASES = {
  1: 'drain',
  2: 'assemble_context',
  3: 'call_model',
  4: 'persist_answer',
  5: 'execute_tools',
  6: 'persist_results',
  7: 'stop_conditions',
} as const satisfies Readonly<Record<Phase, string>>

export function phaseFact(phase: Phase, scope: EventScope): Fact {
  return fact('step.phase', { phase, name: PHASES[phase] }, scope)
}

const RUN_ENDS: readonly string[] = [
  'run.completed',
  'run.failed',
  'run.cancelled',
] satisfies readonly EventType[]

/** Whether an event of this type is the end of a run. */
export function isRunEnd(type: string): boolean {
  return RUN_ENDS.includes(type)
}
