import { appendMessage } from '../store/deliver-messages.js'
import { deleteDeltas } from '../store/deltas.js'
import { appendEvents } from '../store/events.js'
import type { Writer } from '../store/store.js'
import { finishToolCall, openToolCalls } from '../store/tool-calls.js'
import type { ToolCallRecord } from '../store/tool-calls.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { cancelled, interrupted } from './execute-tool/call-result.js'
import { resultId } from './execute-tool/commit-result.js'

interface Closing {
  readonly threadId: string
  readonly outcome: 'interrupted' | 'cancelled'
  /** Microseconds. */
  readonly now: number
}

/**
 * Gives every open or unstarted call a result, and ends every operation in flight, so that an attempt that comes late
 * cannot commit any more (T4, T8).
 */
export async function closeOpenCalls(tx: Writer, closing: Closing): Promise<void> {
  for (const call of await openToolCalls(tx, closing.threadId)) await closeCall(tx, call, closing)
  await endOperations(tx, closing)
}

async function closeCall(
  tx: Writer,
  call: ToolCallRecord,
  { threadId, outcome, now }: Closing,
): Promise<void> {
  const result = outcome === 'interrupted' ? interrupted() : cancelled()
  const messageId = resultId({ threadId, callId: call.id })
  const { id: callId, name, run, step, side } = call
  await appendMessage(tx, {
    id: messageId,
    threadId,
    role: 'tool',
    content: result.content,
    name,
    toolCallId: callId,
    toolStatus: 'error',
    createdAt: now,
    sentBy: 'runtime',
    side,
    run,
    step,
  })
  const { errorCode } = result
  await finishToolCall(tx, { threadId, callId, status: outcome, errorCode, resultMessageId: messageId, now })
  const scope = { runId: runIdOf(run), stepId: stepIdOf(run, step), toolCallId: callId, messageId }
  const event = { type: 'tool.result', scope, payload: { name, outcome, errorCode } }
  await appendEvents(tx, { threadId, events: [event], now })
}

async function endOperations(tx: Writer, { threadId, outcome, now }: Closing): Promise<void> {
  const ended = await tx
    .updateTable('operations')
    .set({
      state: 'finished',
      answer: JSON.stringify({ type: 'end', reason: outcome, outcome: 'failed' }),
      finished_at: now,
    })
    .where('thread_id', '=', threadId)
    .where('state', '<>', 'finished')
    .returning('message_id')
    .execute()
  for (const { message_id: messageId } of ended) if (messageId !== null) await deleteDeltas(tx, messageId)
}
