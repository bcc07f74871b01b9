/**
 * Subagents that wait for variables: their rows are in the store, and each starts once its request is answered, or is told
 * of as a failure once its time is over. T7: until then it is no open child, and nothing else answers for it.
 */
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { PendingItem } from '../protocol/snapshot.js'
import { observed, openChild } from './children.js'
import type { DeferredChild, ThreadControl } from './control.js'
import { enqueue } from './inbox.js'

export type DeferredAction =
  | { readonly kind: 'startDeferred'; readonly deferred: DeferredChild }
  | { readonly kind: 'expireChild'; readonly deferred: DeferredChild }

/** What the call of a subagent says when its child lacks variables. */
export function childrenDeferred(
  control: ThreadControl,
  callId: string,
  operations: readonly ThreadOperation[] | undefined,
  now: number,
): ThreadControl {
  const deferred = (operations ?? []).flatMap((operation): readonly DeferredChild[] => {
    if (operation.kind !== 'defer_child') return []
    const { requestId, child, expiresAt } = operation
    return [{ requestId, callId, child, requestedAt: now, expiresAt, supplied: false, expired: false }]
  })
  return {
    ...control,
    deferred: [...control.deferred, ...deferred],
    childrenInAll: control.childrenInAll + deferred.length,
  }
}

/** Requests for variables of subagents. */
export function deferredRequests({ deferred }: ThreadControl): readonly PendingItem[] {
  return deferred
    .filter(({ supplied }) => !supplied)
    .map(({ requestId: id, requestedAt }) => ({ id, kind: 'variables', toolName: null, requestedAt }))
}

/** What is to be done for them before anything else; one that was answered in time is not looked for. */
export function deferredAction({ deferred }: ThreadControl): DeferredAction | null {
  const supplied = deferred.find((child) => child.supplied)
  if (supplied !== undefined) return { kind: 'startDeferred', deferred: supplied }
  const expired = deferred.find((child) => child.expired)
  return expired === undefined ? null : { kind: 'expireChild', deferred: expired }
}

/** The request is answered. */
export function deferredSupplied(control: ThreadControl, requestId: string): ThreadControl {
  return changeDeferred(control, requestId, (child) => ({ ...child, supplied: true, expired: false }))
}

/** It is to be started at once: from now on it is owed, for its report may come before its started event. */
export function deferredOpened(
  control: ThreadControl,
  { child, callId }: DeferredChild,
  now: number,
): ThreadControl {
  return { ...control, children: [...control.children, openChild(child, callId, now)], progressed: true }
}

/** It runs. */
export function deferredStarted(
  control: ThreadControl,
  { requestId, child }: DeferredChild,
  seen: Parameters<typeof observed>[2],
): ThreadControl {
  return observed(withoutDeferred(control, requestId), child.reference, seen)
}

/** When the next one expires, or null. */
export function nextExpiryAt({ deferred }: ThreadControl): number | null {
  const times = deferred
    .filter(({ supplied, expired }) => !supplied && !expired)
    .map(({ expiresAt }) => expiresAt)
  return times.length === 0 ? null : Math.min(...times)
}

/** Marks those whose time is over. */
export function deferredDue(control: ThreadControl, now: number): ThreadControl {
  const isDue = ({ supplied, expired, expiresAt }: DeferredChild): boolean =>
    !supplied && !expired && expiresAt <= now
  if (!control.deferred.some(isDue)) return control
  const deferred = control.deferred.map((child) => (isDue(child) ? { ...child, expired: true } : child))
  return { ...control, deferred, progressed: true }
}

/** The store has it expired, and the parent is told; without a message it was answered in time, and starts. */
export function childExpired(
  control: ThreadControl,
  requestId: string,
  messageId: string | null,
  now: number,
): ThreadControl {
  if (messageId === null) return deferredSupplied(control, requestId)
  const without = withoutDeferred(control, requestId)
  return enqueue(without, { kind: 'report', id: messageId, queuedAt: now })
}

/** The store could not be asked for a day: it is asked again. */
export function expiryFailed(control: ThreadControl, requestId: string, now: number): ThreadControl {
  const expiresAt = now + LIMITS.childCheckLast
  return changeDeferred(control, requestId, (child) => ({ ...child, expired: false, expiresAt }))
}

function withoutDeferred(control: ThreadControl, requestId: string): ThreadControl {
  const deferred = control.deferred.filter((child) => child.requestId !== requestId)
  return { ...control, deferred, progressed: true }
}

function changeDeferred(
  control: ThreadControl,
  requestId: string,
  change: (child: DeferredChild) => DeferredChild,
): ThreadControl {
  if (!control.deferred.some((child) => child.requestId === requestId)) return control
  const deferred = control.deferred.map((child) => (child.requestId === requestId ? change(child) : child))
  return { ...control, deferred, progressed: true }
}
