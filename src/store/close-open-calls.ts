import { randomUUID } from 'node:crypto'

import { CUT_CALL } from '../protocol/cut-call.js'
import { phaseFact } from '../protocol/facts.js'
import type { EventScope } from '../protocol/facts.js'
import { runIdOf, stepIdOf, stepOfModelOperation } from '../protocol/ids.js'
import { appendMessage } from './deliver-messages.js'
import { deleteDeltas } from './deltas.js'
import { appendEvents } from './events.js'
import type { NewEvent } from './events.js'
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
  const open = await tx
    .selectFrom('operations')
    .select(['id', 'kind', 'state', 'message_id'])
    .where('thread_id', '=', threadId)
    .where('state', '<>', 'finished')
    .execute()
  if (open.length === 0) return
  await tx
    .updateTable('operations')
    .set({
      state: 'finished',
      answer: JSON.stringify({ type: 'end', reason: outcome, outcome: 'failed' }),
      finished_at: now,
    })
    .where('thread_id', '=', threadId)
    .where('state', '<>', 'finished')
    .execute()
  for (const { id, kind, state, message_id: messageId } of open) {
    if (messageId !== null) await deleteDeltas(tx, messageId)
    if (kind === 'model') await appendEvents(tx, { threadId, events: cutStepEvents(id, state, outcome), now })
  }
}

/** A step whose model call left no answer still gets the rest of its phases. */
function cutStepEvents(operationId: string, state: string, reason: Closing['outcome']): readonly NewEvent[] {
  const { run, step } = stepOfModelOperation(operationId)
  const scope: EventScope = { runId: runIdOf(run), stepId: stepIdOf(run, step) }
  const marked = state === 'drained' ? 1 : 3
  const phases = ([2, 3, 4, 5, 6, 7] as const).filter((phase) => phase > marked)
  const completed = { type: 'step.completed', scope, payload: { step, reason } }
  return [...phases.map((phase) => phaseFact(phase, scope)), completed]
}
