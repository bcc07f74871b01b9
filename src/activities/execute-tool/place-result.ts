import { randomUUID } from 'node:crypto'
import type { Fact } from '../../protocol/facts.js'
import { deleteMessage } from '../../store/change-messages.js'
import { eraseCall } from '../../store/erase-call.js'
import type { NewMessage } from '../../store/message-row.js'
import type { Writer } from '../../store/store.js'
import { stepScope } from '../call-model/model-step.js'
import { storeDraft } from '../hooks/create-hooks.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { StateEffects } from '../thread-state/buffered-thread-state.js'
import type { HeldCall } from './begin-call.js'
import { resultRow, storeRow } from './result-rows.js'
import type { PreparedResult } from './prepared-result.js'

interface Placed extends StateEffects {
  /** Null for a call that is erased. */
  readonly messageId: string | null
  readonly events: readonly Fact[]
}

interface Place {
  readonly hooks: HookBatch
  /** A child's queued report that becomes the row. */
  readonly reportId: string | null
}

/**
 * The row of a result meets its create hooks now; it is stored in its place among what call and hooks write, by the
 * function that is answered, in the transaction of the outcome. One that a stop made meets no hook.
 */
export async function placeResult(
  call: HeldCall,
  { result, erased, put }: PreparedResult,
  { hooks, reportId }: Place,
): Promise<(tx: Writer) => Promise<Placed>> {
  const freshId = call.resultId ?? randomUUID()
  const toolStatus = result.outcome === 'succeeded' ? 'success' : 'error'
  let messageId: string | null = null
  let events: readonly Fact[] = []
  const store = async (tx: Writer, draft: NewMessage, moved: StateEffects['moved']): Promise<void> => {
    await put(tx)
    messageId = await storeRow(tx, call, { draft, toolStatus, reportId, freshId, moved })
  }
  const metadata = await hooks.resultMetadata()
  const draft = { ...resultRow(call, result, reportId ?? freshId), metadata }
  if (erased) await hooks.write(async (tx) => void (events = await erase(tx, call, reportId)))
  else if (result.outcome === 'interrupted' || result.outcome === 'cancelled')
    await hooks.write((tx, moved) => store(tx, draft, moved))
  else await storeDraft(hooks, draft, store)
  await hooks.settled()
  return async (tx) => {
    const effects = await hooks.commit(tx)
    return { ...effects, messageId, events }
  }
}

async function erase(
  tx: Writer,
  { input, row }: HeldCall,
  reportId: string | null,
): Promise<readonly Fact[]> {
  const { threadId, callId } = input
  // Its words were this call's result: they are no message of their own any more.
  if (reportId !== null) await deleteMessage(tx, threadId, reportId)
  const { message_id: messageId } = row
  const type = await eraseCall(tx, { threadId, callId, messageId })
  return type === null ? [] : [{ type, scope: { ...stepScope(input), messageId } }]
}
