/** One tool call: what was decided about it, what it shows while it runs, what became of it, and the subagents that it started. */
import type { Message } from '../../protocol/message.js'
import { adviceFor, failureOfCode } from '../../protocol/payloads/tool-failure.js'
import type { ToolFailure } from '../../protocol/payloads/tool-failure.js'
import type { ToolProgress } from '../../protocol/payloads/live-text.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord, ToolCallStatus } from '../../store/calls/tool-calls.js'
import { readDeltas } from '../../store/messages/deltas.js'
import { findMessage } from '../../store/messages/transcript.js'
import { childrenOfCalls } from '../../store/threads/children.js'
import type { Reader } from '../../store/store.js'
import { decisionsOf } from '../lists/decisions.js'
import type { RecordedDecision } from '../lists/decisions.js'
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
  /** The failure that it met, also one that was overcome, and what to do about it; null: there was none. */
  readonly failure: (ToolFailure & { readonly advice: string }) | null
  /** The result as the model sees it; null while the call is open, or if its message was removed. */
  readonly result: Message | null
  /** What it has shown while it runs, in its newest attempt; null: nothing, or it has ended. */
  readonly live: { readonly progress: ToolProgress | null; readonly output: string } | null
  /** What was decided about it, with its arguments, flags, permission and files; null: nothing is decided yet. */
  readonly decision: RecordedDecision | null
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
    const [decision = null] = await decisionsOf(db, threadId, [call])
    const children = await childrenOfCalls(db, { parentThreadId: threadId, callIds: [toolCallId] })
    return {
      ...{ toolCallId, name, status, errorCode, failure: failureOf(call) },
      result: resultId === null ? null : await findMessage(db, threadId, resultId),
      live: status === 'open' ? await readLive(db, threadId, toolCallId) : null,
      decision,
      children: children.map(({ reference }) => reference),
      startedAt: call.started_at,
      finishedAt: call.finished_at,
    }
  })
}

function failureOf({ status, error_code: code, failure }: ToolCallRecord): ToolCallRead['failure'] {
  if (failure === null && (status === 'open' || status === 'succeeded')) return null
  const met = failure ?? failureOfCode(status === 'open' ? 'unknown' : status, code)
  return { ...met, advice: adviceFor(met.category) }
}

async function readLive(db: Reader, threadId: string, toolCallId: string): Promise<ToolCallRead['live']> {
  const all = (await readDeltas(db, threadId)).filter(({ messageId }) => messageId === toolCallId)
  const newest = Math.max(...all.map(({ attempt }) => attempt))
  const shown = all.filter(({ attempt }) => attempt === newest)
  if (shown.length === 0) return null
  const report = shown.findLast(({ kind }) => kind === 'progress')
  return {
    // Written by `live-reports.ts`: the store's boundary.
    progress: report === undefined ? null : (JSON.parse(report.text) as ToolProgress),
    output: shown.flatMap(({ kind, text }) => (kind === 'output' ? text : [])).join(''),
  }
}
