/** One tool call: what became of it, and the subagents that it started. */
import type { Message } from '../../protocol/message.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallStatus } from '../../store/calls/tool-calls.js'
import { findMessage } from '../../store/messages/transcript.js'
import { childrenOfCall } from '../../store/threads/children.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** A tool call of a thread, also one that waits in the queue. */
export interface ToolCallRead {
  readonly toolCallId: string
  /** The name that was called: of a tool, an agent or a prompt. */
  readonly name: string
  /** `open`: it waits, or runs. `unknown`: it was interrupted, and may have taken effect. */
  readonly status: ToolCallStatus
  /** The code of a result that is an error. */
  readonly errorCode: string | null
  /** The result as the model sees it; null while the call is open, or if its message was removed. */
  readonly result: Message | null
  /** The threads of the subagents that it started, in order. */
  readonly children: readonly string[]
  /** Microseconds since 1970; null: it has not begun, or not ended. */
  readonly startedAt: number | null
  readonly finishedAt: number | null
}

/** Null: the thread has no call of that id. @throws ThreadNotFoundError */
export async function readCall(
  context: ClientContext,
  threadId: string,
  toolCallId: string,
): Promise<ToolCallRead | null> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const call = await findToolCall(db, threadId, toolCallId)
    if (call === null) return null
    const { name, status, error_code: errorCode, result_message_id: resultId } = call
    const children = await childrenOfCall(db, { parentThreadId: threadId, callId: toolCallId })
    return {
      ...{ toolCallId, name, status, errorCode },
      result: resultId === null ? null : await findMessage(db, threadId, resultId),
      children: children.map(({ reference }) => reference),
      startedAt: call.started_at,
      finishedAt: call.finished_at,
    }
  })
}
