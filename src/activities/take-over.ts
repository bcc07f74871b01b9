import { Context } from '@temporalio/activity'

import { failure } from '../protocol/failures.js'
import { takeOperation } from '../store/operations.js'
import type { OperationHold, OperationRecord } from '../store/operations.js'
import type { Writer } from '../store/store.js'

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
