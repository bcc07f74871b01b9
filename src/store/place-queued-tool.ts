import { runIdOf, stepIdOf } from '../protocol/ids.js'
import { deliverMessages } from './deliver-messages.js'
import type { NewEvent } from './events.js'
import type { StepOfCall } from './stage-queued-tool.js'
import { appendToolInvocation } from './status-line.js'
import type { Writer } from './store.js'
import { adoptToolCall } from './tool-calls.js'
import type { ToolCallRecord } from './tool-calls.js'

/**
 * T3: a staged tool's turn has come, so the message that holds it goes to the end of the transcript, behind a line that
 * says who called it. Answers the events of both.
 */
export async function placeQueuedTool(
  tx: Writer,
  { thread_id: threadId, id: callId, message_id: messageId, name: tool }: ToolCallRecord,
  { run, step, side, now }: StepOfCall & { readonly now: number },
): Promise<readonly NewEvent[]> {
  const scope = { runId: runIdOf(run), stepId: stepIdOf(run, step) }
  await adoptToolCall(tx, { threadId, callId, run, step, side })
  const line = { threadId, run, step, scope, now, tool, toolCallId: callId }
  const status = await appendToolInvocation(tx, line)
  const delivered = await deliverMessages(tx, { threadId, ids: [messageId], run, step })
  const created = delivered.map(({ id, role }) => ({
    type: 'message.created',
    scope: { ...scope, messageId: id },
    payload: { role },
  }))
  return [status, ...created]
}
