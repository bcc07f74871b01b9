/** What comes due by itself, whatever the thread is doing: effects, and requests that nobody answered. */
import type { ThreadControl } from './control.js'
import { deferredDue, nextExpiryAt } from './deferred.js'
import { effectsDue, nextEffectAt } from './effects.js'

/** What is due is an item, or marked; nothing else happens to it. */
export function comesDue(control: ThreadControl, now: number): ThreadControl {
  return deferredDue(effectsDue(control, now), now)
}

/** When something comes due next, or null. */
export function nextDueAt(control: ThreadControl, now: number): number | null {
  const times = [nextEffectAt(control, now), ends(control) ? null : nextExpiryAt(control)]
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}

function ends({ terminating, closing }: ThreadControl): boolean {
  return terminating || closing !== null
}
