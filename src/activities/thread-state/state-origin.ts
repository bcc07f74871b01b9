import type { EventScope } from '../../protocol/facts.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { Side } from '../../protocol/plan.js'
import type { MessageSender } from '../../store/messages/message-row.js'

/**
 * Whose state it is. Ids of what is written are made from `id`: they are the same in each attempt. Outside of a run, or of
 * a step, the numbers are null.
 */
export type StateOrigin =
  | {
      readonly kind: 'call' | 'hook'
      readonly id: string
      readonly run: number | null
      readonly step: number | null
      readonly side: Side | null
    }
  | {
      readonly kind: 'effect'
      readonly id: string
      /** Its key in the registry. */
      readonly name: string
      readonly run: null
      readonly step: null
      readonly side: null
    }
  /** A thread endpoint, which is no part of any run. */
  | {
      readonly kind: 'endpoint'
      readonly id: string
      readonly run: null
      readonly step: null
      readonly side: null
    }
  /** Code of another thread: a child's or the parent's. */
  | {
      readonly kind: 'relative'
      readonly id: string
      readonly sentBy: 'child' | 'parent'
      readonly run: null
      readonly step: null
      readonly side: null
    }

export function scopeOf({ kind, id, run, step }: StateOrigin): EventScope {
  return {
    ...(run === null ? {} : { runId: runIdOf(run) }),
    ...(run === null || step === null ? {} : { stepId: stepIdOf(run, step) }),
    ...(kind === 'call' ? { toolCallId: id } : {}),
  }
}

export function senderOf(origin: StateOrigin): MessageSender {
  if (origin.kind === 'relative') return origin.sentBy
  if (origin.kind === 'endpoint') return 'client'
  return origin.kind === 'call' ? 'tool' : origin.kind
}

/** What messages say of an effect that wrote them. */
export function metadataOf(
  origin: StateOrigin,
  given: Record<string, unknown> | null,
): Record<string, unknown> | null {
  if (origin.kind !== 'effect') return given
  return { ...given, scheduledEffect: { id: origin.id, name: origin.name } }
}
