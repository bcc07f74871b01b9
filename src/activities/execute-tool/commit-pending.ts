import type { PendingAnswer, ResultAnswer } from '../../protocol/activities.js'
import { appendEvents } from '../../store/events.js'
import { FileError } from '../../store/file-error.js'
import { finishOperation } from '../../store/operations.js'
import { insertRequest, takeEarlyAnswer } from '../../store/pending.js'
import type { Store, Writer } from '../../store/store.js'
import { OperationLost, commitHeld } from '../commit.js'
import { TooManyOperations, assertFitting } from '../fitting-operations.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import type { HeldCall } from './begin-call.js'
import { failed } from './call-result.js'
import { commitResult } from './commit-result.js'

/**
 * The tool has done its part, and the answer comes from outside, under the call's own id: what the call did to its thread
 * is kept now (T9), and the answer's checks are those of any result. One that came before the question is found here.
 */
export async function commitPending(
  store: Store,
  call: HeldCall,
  { state, hooks }: { readonly state: BufferedState; readonly hooks: HookBatch },
): Promise<PendingAnswer | ResultAnswer> {
  const { input, operationId } = call
  const badContext = state.contextLooks()
  if (badContext !== undefined)
    return commitResult(store, call, failed(badContext, 'invalid_context'), { hooks })
  try {
    return await commitHeld(store, { threadId: input.threadId, id: operationId }, (tx) =>
      ask(tx, call, hooks),
    )
  } catch (error) {
    if (error instanceof TooManyOperations)
      return commitResult(store, call, failed(error.message, 'too_many_operations'))
    if (!FileError.isInstance(error)) throw error
    return commitResult(store, call, failed(error.message, 'invalid_file'))
  }
}

async function ask(tx: Writer, call: HeldCall, hooks: HookBatch): Promise<PendingAnswer> {
  const { input, row, operationId: id, attempt, now, scope } = call
  const { threadId, callId } = input
  const { operations } = await hooks.commit(tx)
  assertFitting(operations)
  const asked = { kind: 'call', call_id: callId, tool_name: row.name } as const
  const isNew = await insertRequest(tx, { thread_id: threadId, id: callId, ...asked, requested_at: now })
  const isAnswered = !isNew && (await takeEarlyAnswer(tx, { threadId, id: callId, now }))
  const answer: PendingAnswer = {
    ...{ type: 'pending', requestId: callId, kind: 'call', status: 'waiting_input', next: 'complete' },
    ...(isAnswered && { answered: true }),
    ...(operations.length === 0 ? {} : { operations }),
  }
  if (!(await finishOperation(tx, { threadId, id, attempt, answer, now }))) throw new OperationLost()
  const payload = { requestId: callId, kind: 'call', toolName: row.name }
  await appendEvents(tx, { threadId, events: [{ type: 'action.required', scope, payload }], now })
  return answer
}
