import type { JsonObject } from '../protocol/values.js'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fact } from '../protocol/facts.js'
import { failure } from '../protocol/failures.js'
import { LIMITS } from '../protocol/limits.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { digestOf } from '../store/digest.js'
import { findOperation, finishOperation, isHeld, takeOperation } from '../store/operations.js'
import type { FinishedOperation, OperationHold, OperationRecord } from '../store/operations.js'
import { StoreError } from '../store/store-error.js'
import type { Store, Writer } from '../store/store.js'
import { assertStoppedByUser } from './activity.js'
import { Context } from './temporal-activity.js'

const FIRST_PAUSE = 200
const LONGEST_PAUSE = 10_000
const PASSING: ReadonlySet<string> = new Set(['busy', 'unavailable'])

/**
 * For what must not be lost: while the store fails in passing, the activity keeps what it has and tries again,
 * heartbeating, through a stop of the user; a worker that shuts down or has lost the task gives up.
 */
async function persistently<T>(work: () => Promise<T>): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await work()
    } catch (error) {
      if (!StoreError.isInstance(error) || !PASSING.has(error.code)) throw error
      assertStoppedByUser()
      await sleep(pause)
    }
  }
}

/** Thrown inside a transaction to roll it back: another attempt holds the operation. */
export class OperationLost extends Error {}

/** @throws OperationLost */
export async function finishOrLose(tx: Writer, operation: FinishedOperation): Promise<void> {
  if (!(await finishOperation(tx, operation))) throw new OperationLost()
}

/**
 * Runs a commit that is conditional on holding the operation (T4). If another attempt was first, its recorded answer is
 * ours.
 * @throws `Operation.Lost` if the other attempt is still at it
 */
export async function commitHeld<T>(
  store: Store,
  operation: { readonly threadId: string; readonly id: string },
  work: (tx: Writer) => Promise<T>,
): Promise<T> {
  try {
    return await persistently(() => store.write(work))
  } catch (error) {
    if (!(error instanceof OperationLost)) throw error
    const recorded = await recordedAnswer<T>(store, operation)
    if (recorded === null) throw failure('Operation.Lost')
    return recorded
  }
}

/** Whether this attempt holds its operation still: what it does from now on would else be done behind another's back (T4). */
export async function holdsStill(
  store: Store,
  held: Pick<OperationHold, 'threadId' | 'id' | 'attempt'>,
): Promise<boolean> {
  return persistently(() => store.read((db) => isHeld(db, held)))
}

/** The answer of an operation that is finished, or null. */
async function recordedAnswer<T>(
  store: Store,
  { threadId, id }: { readonly threadId: string; readonly id: string },
): Promise<T | null> {
  const operation = await store.read((db) => findOperation(db, threadId, id))
  // Written by `finishOperation` of the same activity: the store's boundary.
  return operation?.state === 'finished' ? (operation.answer as T) : null
}

/** Microseconds of Temporal's clock: when it scheduled this attempt. An operation's row names its holder so. */
export function scheduledAt(): number {
  return Context.current().info.currentAttemptScheduledTimestampMs * 1000
}

/**
 * Holds an operation that another attempt has begun, from now on in that state; answers the number of this attempt. A
 * task may be so long on its way that Temporal gives it up, and the next attempt is at work before it arrives: it takes
 * nothing from that one (T4, docs/decisions/0049).
 * @throws `Operation.Late` if an attempt that was scheduled later holds it
 */
export async function takeOver(
  tx: Writer,
  operation: OperationRecord,
  state: OperationHold['state'],
): Promise<number> {
  const { thread_id: threadId, id, scheduled_at: holder } = operation
  // Null: code of before schema version 5 holds it.
  if (holder !== null && holder > scheduledAt()) throw failure('Operation.Late')
  const attempt = operation.attempt + 1
  await takeOperation(tx, { threadId, id, attempt, state, scheduledAt: scheduledAt() })
  return attempt
}

/** What the row of an operation keeps of the facts that were stored with it: of each a short digest. */
export interface ToldFacts {
  /** Left out when there were none. */
  readonly facts?: readonly string[]
}

/**
 * The facts that an activity was not given when it was done: nobody heard of that, it is asked again, and the thread has
 * gone on. Two that are equal are two.
 */
export function newFacts(given: readonly Fact[], { detail }: Before): readonly Fact[] {
  const known = [...toldBefore(detail)]
  return given.filter((fact) => {
    const index = known.indexOf(digest(fact))
    if (index !== -1) known.splice(index, 1)
    return index === -1
  })
}

export function toldFacts(facts: readonly Fact[], { detail }: Before = { detail: null }): ToldFacts {
  const told = [...toldBefore(detail), ...facts.map(digest)]
  return told.length === 0 ? {} : { facts: told }
}

type Before = Pick<OperationRecord, 'detail'>

function toldBefore(detail: unknown): readonly string[] {
  // Written by the activities that ask: the store's boundary.
  return (detail as ToldFacts | null)?.facts ?? []
}

function digest({ type, scope = {}, payload }: Fact): string {
  // A fact reaches an activity as JSON.
  return digestOf([type, { ...scope }, payload as JsonObject]).slice(0, 8)
}

/** Thrown inside a transaction to roll it back: the answer would be too large to be told, after it was committed. */
export class TooManyOperations extends Error {
  constructor(operations: readonly ThreadOperation[]) {
    const kinds = [...new Set(operations.map(({ kind }) => kind))].join(', ')
    super(
      `One call did too much to its thread: expected changes of ${LIMITS.operationBytes} bytes at most, got ${operations.length} (${kinds}) of ${bytesOf(operations)} bytes. Nothing of it was done. Do it in several calls.`,
    )
  }
}

/** @throws `TooManyOperations`, before anything is committed that could not be told (T9) */
export function assertFitting(operations: readonly ThreadOperation[] = []): void {
  if (bytesOf(operations) > LIMITS.operationBytes) throw new TooManyOperations(operations)
}

/** Those from the first one on that one answer takes. */
export function fittingOperations(operations: readonly ThreadOperation[]): readonly ThreadOperation[] {
  let bytes = 2
  const over = operations.findIndex((operation) => {
    bytes += bytesOf(operation) + 1
    return bytes > LIMITS.operationBytes
  })
  return over === -1 ? operations : operations.slice(0, over)
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
