/** Delayed work: its due times. T3: one that becomes due is an item of the inbox, and nothing else happens to it. */
import { LIMITS } from '../protocol/limits.js'
import { utf8Length } from '../protocol/utf8-length.js'
import type { ScheduledItem } from '../protocol/snapshot.js'
import type { ThreadControl } from './control.js'
import { withWarning } from './facts.js'
import { enqueue, hasRoom, removed } from './inbox.js'

/** An effect was scheduled, or scheduled anew; beyond the bounds it is refused. */
export function effectScheduled(control: ThreadControl, { id, dueAt }: ScheduledItem): ThreadControl {
  const others = effectRemoved(control, id)
  const effects = [...others.effects, { id, dueAt }]
  if (effects.length <= LIMITS.effects && effectBytes(effects) <= LIMITS.effectBytes)
    return { ...others, effects }
  const refused = `The thread has ${control.effects.length} scheduled effects; this one was refused.`
  return withWarning(control, 'effects_full', refused)
}

/** An effect was removed, whether it is due or not. */
export function effectRemoved(control: ThreadControl, id: string): ThreadControl {
  const unqueued = removed(control, 'effect', id)
  if (!unqueued.effects.some((effect) => effect.id === id)) return unqueued
  return { ...unqueued, effects: unqueued.effects.filter((effect) => effect.id !== id) }
}

/** A settle has told of these that they were given up. */
export function givenUpTold(control: ThreadControl, ids: readonly string[]): ThreadControl {
  if (ids.length === 0) return control
  return { ...control, givenUp: control.givenUp.filter((id) => !ids.includes(id)) }
}

/** Moves what is due into the inbox, the earliest first; what finds no room there stays. */
export function effectsDue(control: ThreadControl, now: number): ThreadControl {
  if (control.terminating || control.closing !== null) return control
  const due = control.effects
    .filter(({ dueAt }) => dueAt <= now)
    .toSorted((one, other) => one.dueAt - other.dueAt)
  return due.reduce((next, { id }) => {
    const entry = { kind: 'effect', id, queuedAt: now } as const
    if (!hasRoom(next, entry)) return next
    const effects = next.effects.filter((effect) => effect.id !== id)
    return { ...enqueue({ ...next, effects }, entry), progressed: true }
  }, control)
}

/** When the next effect becomes due, or null. */
export function nextEffectAt(control: ThreadControl, now: number): number | null {
  if (control.terminating || control.closing !== null) return null
  const times = control.effects.map(({ dueAt }) => dueAt).filter((dueAt) => dueAt > now)
  return times.length === 0 ? null : Math.min(...times)
}

/** As a pair it is carried. */
function effectBytes(effects: readonly ScheduledItem[]): number {
  return effects.reduce((bytes, { id, dueAt }) => bytes + utf8Length(JSON.stringify([id, dueAt])) + 1, 0)
}
