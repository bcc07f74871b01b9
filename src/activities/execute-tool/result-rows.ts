import { randomUUID } from 'node:crypto'
import type { Fact } from '../../protocol/facts.js'
import { appendMessage, turnIntoToolResult } from '../../store/deliver-messages.js'
import type { Writer } from '../../store/store.js'
import { stepScope } from '../call-model/model-step.js'
import type { HeldCall } from './begin-call.js'
import type { CallResult } from './call-result.js'

interface Stored {
  readonly result: CallResult
  /** A child's queued report that becomes the row. */
  readonly reportId: string | null
}

/**
 * The row of a result, beside the message that holds the call; answers its id. Ids of rows that the runtime makes are
 * random: one that could be guessed could be taken before by a message of a client, and no commit would ever go through
 * (T10).
 */
export async function storeResult(
  tx: Writer,
  { input, row, holder, resultId, now }: HeldCall,
  { result, reportId }: Stored,
): Promise<string> {
  const { threadId, callId: toolCallId, run, step, side } = input
  const toolStatus = result.outcome === 'succeeded' ? 'success' : 'error'
  const { content, attachments, subagentId } = result
  const { parentId, depth } = holder
  const what = { toolCallId, name: row.name, content, toolStatus, attachments } as const
  const common = { threadId, ...what, parentId, depth, run, step, side }
  if (reportId !== null) {
    const position = await turnIntoToolResult(tx, { ...common, messageId: reportId })
    if (position !== null) return reportId
  }
  const id = resultId ?? randomUUID()
  await appendMessage(tx, { ...common, id, role: 'tool', createdAt: now, sentBy: 'tool', subagentId })
  return id
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
