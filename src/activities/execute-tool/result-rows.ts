import { randomUUID } from 'node:crypto'
import type { Fact } from '../../protocol/facts.js'
import { appendMessage, turnIntoToolResult } from '../../store/deliver-messages.js'
import type { NewMessage } from '../../store/message-row.js'
import type { Writer } from '../../store/store.js'
import { stepScope } from '../call-model/model-step.js'
import type { HeldCall } from './begin-call.js'
import { atNewPath } from '../thread-state/moved-attachment.js'
import type { CallResult } from './call-result.js'

/** The row of a result, beside the message that holds the call. */
export function resultRow({ input, row, holder, now }: HeldCall, result: CallResult, id: string): NewMessage {
  const { threadId, callId: toolCallId, run, step, side } = input
  const toolStatus = result.outcome === 'succeeded' ? 'success' : 'error'
  const { content, attachments, subagentId } = result
  const { parentId, depth } = holder
  const what = { toolCallId, name: row.name, content, toolStatus, attachments } as const
  const common = { threadId, ...what, parentId, depth, run, step, side }
  return { ...common, id, role: 'tool', createdAt: now, sentBy: 'tool', subagentId }
}

interface Stored {
  readonly draft: NewMessage
  readonly toolStatus: 'success' | 'error'
  /** A child's queued report that becomes the row. */
  readonly reportId: string | null
  /** Of a row of its own. */
  readonly freshId: string
  readonly moved: ReadonlyMap<string, string>
}

/**
 * Stores it; answers its id. Ids of rows that the runtime makes are random: one that could be guessed could be taken before
 * by a message of a client, and no commit would ever go through (T10).
 */
export async function storeRow(
  tx: Writer,
  { input, row }: HeldCall,
  { draft, toolStatus, reportId, freshId, moved }: Stored,
): Promise<string> {
  const attachments = draft.attachments?.map((file) => atNewPath(file, moved)) ?? []
  if (reportId !== null) {
    const { threadId, callId: toolCallId, run, step, side } = input
    const { content, parentId = null, depth = 0 } = draft
    const what = { toolCallId, name: row.name, content, toolStatus, attachments, parentId, depth }
    const turned = { threadId, messageId: reportId, ...what, run, step, side }
    if ((await turnIntoToolResult(tx, turned)) !== null) return reportId
  }
  await appendMessage(tx, { ...draft, attachments, id: freshId })
  return freshId
}

/** What comes behind the result: the words of a stop tool, the first message of a handoff; answers its event. */
export async function storeFollowing(
  tx: Writer,
  { input, now }: HeldCall,
  { followedBy }: CallResult,
): Promise<readonly Fact[]> {
  if (followedBy === null) return []
  const { threadId, run, step } = input
  const id = randomUUID()
  await appendMessage(tx, { ...followedBy, id, threadId, createdAt: now, sentBy: 'tool', run, step })
  const scope = { ...stepScope(input), messageId: id }
  return [{ type: 'message.created', scope, payload: { role: followedBy.role } }]
}
