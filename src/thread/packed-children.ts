import type { DeferredChild, OpenChild } from './control.js'

/** A child as it is carried; a close event that this Temporal run would see reaches the next one no more. */
export type PackedChild = readonly [
  reference: string,
  resumable: 0 | 1,
  invocations: readonly string[],
  reports: number,
  checks: number,
  nextCheckAt: number,
]

export type PackedDeferred = readonly [
  requestId: string,
  callId: string,
  child: readonly [reference: string, agent: string, messageId: string, resumable: 0 | 1],
  requestedAt: number,
  expiresAt: number,
  state: 0 | 1 | 2,
]

const WAITS = 0
const SUPPLIED = 1
const EXPIRED = 2

export function packChild(child: OpenChild): PackedChild {
  const { reference, resumable, invocations, reports, checks, nextCheckAt } = child
  return [reference, resumable ? 1 : 0, invocations, reports, checks, nextCheckAt]
}

export function unpackChild(packed: PackedChild): OpenChild {
  const [reference, resumable, invocations, reports, checks, nextCheckAt] = packed
  return { reference, resumable: resumable === 1, invocations, reports, observed: false, checks, nextCheckAt }
}

export function packDeferred({ child, supplied, expired, ...deferred }: DeferredChild): PackedDeferred {
  const { requestId, callId, requestedAt, expiresAt } = deferred
  const { reference, agent, messageId, resumable } = child
  const state = supplied ? SUPPLIED : expired ? EXPIRED : WAITS
  const packed = [reference, agent, messageId, resumable ? 1 : 0] as const
  return [requestId, callId, packed, requestedAt, expiresAt, state]
}

export function unpackDeferred(packed: PackedDeferred): DeferredChild {
  const [requestId, callId, [reference, agent, messageId, resumable], requestedAt, expiresAt, state] = packed
  return {
    requestId,
    callId,
    child: { reference, agent, messageId, resumable: resumable === 1 },
    requestedAt,
    expiresAt,
    supplied: state === SUPPLIED,
    expired: state === EXPIRED,
  }
}
