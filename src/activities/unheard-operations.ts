import type { SettleInput } from '../protocol/end-activities.js'
import type { ThreadOperation } from '../protocol/operations.js'
import { findOperation } from '../store/operations.js'
import type { OperationRecord } from '../store/operations.js'
import type { Reader } from '../store/store.js'
import { findToolCall } from '../store/tool-calls.js'
import { operationsOf } from './call-model/model-step.js'

/**
 * What was committed with answers that nobody heard, or before there was one, as what hooks did with a drain (T9). Called
 * when the calls of the run are closed: a tool that one of them queued for its step has its result by then, and runs no more.
 */
export async function unheardOperations(
  db: Reader,
  { threadId, unheard = [], givenUp = [] }: Pick<SettleInput, 'threadId' | 'unheard' | 'givenUp'>,
): Promise<readonly ThreadOperation[]> {
  const found: ThreadOperation[] = []
  for (const id of [...unheard, ...givenUp]) {
    const known = await (id.includes('*')
      ? findActivation(db, threadId, id)
      : findOperation(db, threadId, id))
    if (known === null) continue
    // Written by the activities of a step: the store's boundary.
    const answer = known.answer as { readonly operations?: readonly ThreadOperation[] } | null
    // An answer has those of its drain among its own.
    for (const operation of answer?.operations ?? operationsOf(known))
      if (operation.kind !== 'queue_tool' || (await isOpen(db, threadId, operation.id))) found.push(operation)
  }
  return found
}

/** The step knows how many activations came before it, but not the key of the prompt. */
async function findActivation(db: Reader, threadId: string, id: string): Promise<OperationRecord | null> {
  const [before = '', after = ''] = id.split('*')
  const row = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'activation')
    .where('id', 'like', `${before}_________${after}`)
    .executeTakeFirst()
  return row === undefined ? null : findOperation(db, threadId, row.id)
}

async function isOpen(db: Reader, threadId: string, callId: string): Promise<boolean> {
  return (await findToolCall(db, threadId, callId))?.status === 'open'
}
