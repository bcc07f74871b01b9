import { LIMITS } from '../protocol/limits.js'
import type { Fact } from '../protocol/facts.js'
import type { ThreadControl } from './control.js'

/** Keeps facts for the next activity; beyond the bound they are counted only. */
export function withFacts(control: ThreadControl, ...facts: readonly Fact[]): ThreadControl {
  const kept = facts.some(isQueueChange)
    ? control.facts.filter((fact) => !isQueueChange(fact))
    : control.facts
  const room = Math.max(0, LIMITS.waitingFacts - kept.length)
  return {
    ...control,
    facts: [...kept, ...facts.slice(0, room)],
    factsDropped: control.factsDropped + Math.max(0, facts.length - room),
  }
}

/** Only the last length of the queue is news. */
function isQueueChange({ type }: Fact): boolean {
  return type === 'queue.changed'
}

/** What the next activity stores: the facts, and how many did not fit. */
export function factsToSend(control: ThreadControl): readonly Fact[] {
  if (control.factsDropped === 0) return control.facts
  const dropped = { type: 'runtime.warning', payload: { code: 'facts_dropped', count: control.factsDropped } }
  return [...control.facts, dropped]
}

/** Forgets the facts that an activity has stored; those decided meanwhile wait for the next one. */
export function factsSent(control: ThreadControl, sent: readonly Fact[], droppedSent: number): ThreadControl {
  const stored = new Set(sent)
  return {
    ...control,
    facts: control.facts.filter((fact) => !stored.has(fact)),
    factsDropped: control.factsDropped - droppedSent,
  }
}

/** Records something that was skipped, by a code and a sentence without content (T10). */
export function withWarning(control: ThreadControl, code: string, message: string): ThreadControl {
  return withFacts(control, { type: 'runtime.warning', payload: { code, message } })
}
