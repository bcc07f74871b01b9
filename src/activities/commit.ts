import { setTimeout as sleep } from 'node:timers/promises'
import { failure } from '../protocol/failures.js'
import { findOperation, finishOperation, isHeld } from '../store/operations.js'
import type { FinishedOperation, OperationHold } from '../store/operations.js'
import { StoreError } from '../store/store-error.js'
import { assertStoppedByUser } from './beat.js'
import type { Store, Writer } from '../store/store.js'

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
