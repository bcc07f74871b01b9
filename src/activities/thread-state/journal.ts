/**
 * The buffered writes of one call to one thread, the gate that ends the call, the origin of its writes, and the ids derived
 * from that origin.
 *
 * Invariants:
 * J1: writes are committed in the order in which the code made them (T9).
 * J2: nothing is added after the call's gate is closed.
 * J3: ids are derived from the origin's id, so each attempt of the call makes the same ones.
 */

import { createHash } from 'node:crypto'

import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Side } from '../../protocol/plan.js'
import type { MessageSender } from '../../store/messages/message-row.js'
import type { Writer } from '../../store/store.js'
import type { BroughtRules } from '../../store/threads/run-permissions.js'
import type { RunKey } from '../../store/threads/runs.js'

/** The operations for the workflow and the events for clients of a committed write. */
export interface Written {
  readonly operations?: readonly ThreadOperation[]
  readonly events?: readonly Fact[]
}

/** Runs again after a rollback. `moved`: attachments that the commit puts at another path, by their old path. */
export type BufferedWrite = (tx: Writer, moved: ReadonlyMap<string, string>) => Promise<Written>

/** The writes of one call to one thread. */
export interface Journal {
  /** @throws an error once the call has ended */
  add(write: BufferedWrite): void
  commit(tx: Writer, moved: ReadonlyMap<string, string>): Promise<Required<Written>>
}

export function createJournal(gate: CallGate): Journal {
  const writes: BufferedWrite[] = []
  return {
    add(write) {
      // The call may have ended while the write waited for the database; then it must not reach the commit.
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

/** The code whose state it is. The numbers are null outside of a run or a step. */
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
  /** A thread endpoint, which runs outside of any run. */
  | {
      readonly kind: 'endpoint'
      readonly id: string
      readonly run: null
      readonly step: null
      readonly side: null
    }
  /** Code of another thread; `sentBy` is its relation to this one. */
  | {
      readonly kind: 'relative'
      readonly id: string
      readonly sentBy: 'child' | 'parent'
      /** The run of the code; null: it runs outside of any. */
      readonly sentIn: RunKey | null
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

/** The rules that a message of the code to this thread brings: those of the run in which the code runs. */
export function rulesBroughtBy(origin: StateOrigin, threadId: string): BroughtRules | undefined {
  if (origin.kind === 'relative') return origin.sentIn === null ? undefined : { run: origin.sentIn }
  return origin.run === null ? undefined : { run: { threadId, number: origin.run } }
}

/** Reserved for suffixes, in characters. */
const ROOM = 16

/**
 * Returns the id, or its digest if the id is too long for the workflow's queue. Threads may have long ids, and the id of a
 * tool that queues itself would grow each time.
 */
export function boundedId(id: string): string {
  // Measured as the JSON that signals carry: quotes and control characters take more than one byte.
  if (Buffer.byteLength(JSON.stringify(id)) <= LIMITS.messageIdLength - ROOM) return id
  return createHash('sha256').update(id).digest('hex').slice(0, 40)
}

/** Open while a call runs. Once it is closed, code that a tool left running can change nothing. */
export interface CallGate {
  /** @throws an error that states that the call has ended */
  assertOpen(): void
  close(): void
}

/** Creates an open gate. `named` is the subject of the error. */
export function createCallGate(named: string): CallGate {
  let open = true
  return {
    assertOpen() {
      if (open) return
      throw new Error(
        `The ${named} has ended, so its thread's state can no longer be used through it: ` +
          'await everything that belongs to a call before it returns, and stop at execution.abortSignal.',
      )
    },
    close() {
      open = false
    },
  }
}

/** Runs work sequentially in the order of the calls. A failure does not prevent the next work from running. */
export function createTurns(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

/** Warns that a message or a tool call was dropped. */
export function warnQueueFull(origin: StateOrigin, messageId?: string): Fact {
  return fact(
    'runtime.warning',
    {
      code: 'queue_full',
      message: 'Something that a tool queued was dropped: the queue of its thread is full.',
    },
    { ...scopeOf(origin), ...(messageId === undefined ? {} : { messageId }) },
  )
}
