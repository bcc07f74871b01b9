import type { SettleInput } from '../protocol/end-activities.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { findOperation } from '../store/operations.js'
import type { Reader } from '../store/store.js'
import { findToolCall } from '../store/tool-calls.js'

/**
 * What was committed with answers that nobody heard (T9). Called when the calls of the run are closed: a tool that one of
 * them queued for its step has its result by then, and runs no more.
 */
export async function unheardOperations(
  db: Reader,
  { threadId, unheard = [], givenUp = [] }: Pick<SettleInput, 'threadId' | 'unheard' | 'givenUp'>,
): Promise<readonly ThreadOperation[]> {
  const found: ThreadOperation[] = []
  for (const id of [...unheard, ...givenUp]) {
    const known = await findOperation(db, threadId, id)
    // Written by the activities of a step: the store's boundary.
    const answer = known?.answer as { readonly operations?: readonly ThreadOperation[] } | null | undefined
    for (const operation of answer?.operations ?? [])
      if (operation.kind !== 'queue_tool' || (await isOpen(db, threadId, operation.id))) found.push(operation)
  }
  return found
}

async function isOpen(db: Reader, threadId: string, callId: string): Promise<boolean> {
  return (await findToolCall(db, threadId, callId))?.status === 'open'
}
