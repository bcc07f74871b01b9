import { createHash } from 'node:crypto'
import type { EventScope } from '../../protocol/events.js'
import type { Fact } from '../../protocol/facts.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Side } from '../../protocol/plan.js'
import type { MessageSender } from '../../store/messages/message-row.js'
import type { Writer } from '../../store/store.js'
import type { CallGate } from './call-gate.js'

/** What one write did, once it is committed. */
export interface Written {
  readonly operations?: readonly ThreadOperation[]
  readonly events?: readonly Fact[]
}

/** May be tried again after a rollback. `moved`: attachments that are at another path now. */
export type BufferedWrite = (tx: Writer, moved: ReadonlyMap<string, string>) => Promise<Written>

/** What a call wrote, in the order in which it wrote (T9). */
export interface Journal {
  /** @throws a sentence once the call has ended */
  add(write: BufferedWrite): void
  commit(tx: Writer, moved: ReadonlyMap<string, string>): Promise<Required<Written>>
}

export function createJournal(gate: CallGate): Journal {
  const writes: BufferedWrite[] = []
  return {
    add(write) {
      // One that waited for the database while the call ended must not reach the commit.
      gate.assertOpen()
      writes.push(write)
    },
    async commit(tx, moved) {
      const operations: ThreadOperation[] = []
      const events: Fact[] = []
      for (const write of writes) {
        const written = await write(tx, moved)
        operations.push(...(written.operations ?? []))
        events.push(...(written.events ?? []))
      }
      return { operations, events }
    },
  }
}

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

/** Leaves room for what is made from the id. */
const ROOM = 16

/**
 * The id itself, or its digest where it is too long for the workflow's queue: threads may have long ids, and a tool that
 * queues itself would have a longer one each time. The same in each attempt.
 */
export function boundedId(id: string): string {
  // As it is carried: quotes and control characters take more than one byte.
  if (Buffer.byteLength(JSON.stringify(id)) <= LIMITS.messageIdLength - ROOM) return id
  return createHash('sha256').update(id).digest('hex').slice(0, 40)
}
