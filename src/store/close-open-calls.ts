import { randomUUID } from 'node:crypto'

import { CUT_CALL } from '../protocol/cut-call.js'
import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { appendMessage } from './deliver-messages.js'
import { deleteDeltas } from './deltas.js'
import { appendEvents } from './events.js'
import type { Writer } from './store.js'
import { finishToolCall, openToolCalls } from './tool-calls.js'
import type { ToolCallRecord } from './tool-calls.js'

interface Closing {
  readonly threadId: string
  /** Also the error code of the results. */
  readonly outcome: keyof typeof CUT_CALL
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
  const { id: callId, name, run, step, side } = call
  const messageId = randomUUID()
  await appendMessage(tx, {
    id: messageId,
    threadId,
    role: 'tool',
    content: CUT_CALL[outcome],
    name,
    toolCallId: callId,
    toolStatus: 'error',
    createdAt: now,
    sentBy: 'runtime',
    side,
    run,
    step,
  })
  const errorCode = outcome
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
