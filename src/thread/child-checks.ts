/** Children that owe an answer, and whose close this Temporal run cannot see, are looked for (T7). */
import { LIMITS } from '../protocol/limits.js'
import { childClosed } from './children.js'
import type { OpenChild, ThreadControl } from './control.js'

/** When owed children whose close event cannot be seen have to be looked for, or null. */
export function nextCheckAt(control: ThreadControl): number | null {
  const times = control.children.filter(lookedFor(control)).map((child) => child.nextCheckAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Children to look for now. */
export function childrenToCheck(control: ThreadControl, now: number): readonly string[] {
  return control.children
    .filter(lookedFor(control))
    .filter(({ nextCheckAt }) => nextCheckAt <= now)
    .map((child) => child.reference)
}

/** Numbers of the last reports that were taken of them. */
export function reportsTaken(control: ThreadControl, references: readonly string[]): readonly number[] {
  return references.map(
    (wanted) => control.children.find(({ reference }) => reference === wanted)?.reports ?? 0,
  )
}

/** They were looked for: those that are closed are answered for, the others are looked for again, later. */
export function childrenChecked(
  control: ThreadControl,
  checked: readonly string[],
  closed: readonly { readonly reference: string; readonly status: string }[],
  now: number,
): ThreadControl {
  const children = control.children.map((child) =>
    checked.includes(child.reference) ? postponed(child, now) : child,
  )
  // Looking for them is history too, and must not keep the thread from continuing as new.
  const counted: ThreadControl = {
    ...control,
    children,
    childChecks: control.childChecks + 1,
    progressed: true,
  }
  return closed.reduce<ThreadControl>((next, child) => childClosed(next, child, now), counted)
}

/** One that owes nothing is looked for when the next child would be refused, a few times; else whoever writes to it finds out. */
function lookedFor({ children, deferred }: ThreadControl): (child: OpenChild) => boolean {
  const isFull = children.length + deferred.length >= LIMITS.openChildren
  return ({ observed, invocations, checks }) =>
    !observed && (invocations.length > 0 || (isFull && checks < LIMITS.childChecksAtFirst))
}

function postponed(child: OpenChild, now: number): OpenChild {
  const checks = child.checks + 1
  const doublings = Math.max(0, checks - LIMITS.childChecksAtFirst + 1)
  const delay = Math.min(LIMITS.childCheckFirst * 2 ** doublings, LIMITS.childCheckLast)
  return { ...child, checks, nextCheckAt: now + delay }
}
