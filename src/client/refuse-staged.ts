import {
  MessageRejectedError,
  ThreadConflictError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import type { StageResult } from '../store/messages/message-writes.js'

/** What was staged: a message, or a tool call. */
export type Staged = { readonly threadId: string } & (
  | { readonly messageId: string; /** Its id was made of the thread's. */ readonly isFirst?: boolean }
  /** `id`: as the caller gave it. */
  | { readonly toolCallId: string; readonly id: string }
)

/** @throws what tells the caller why nothing was accepted: ThreadConflictError and the like */
export function refuseStaged(result: StageResult, staged: Staged): void {
  const { threadId } = staged
  if (result === 'conflict')
    throw new ThreadConflictError(threadId, {
      problem: conflictProblem(staged),
      ...('messageId' in staged && { messageId: staged.messageId }),
    })
  if (result === 'terminated') throw new ThreadTerminatedError(threadId, 'terminated')
  if (result === 'missing_thread') throw new ThreadNotFoundError(threadId)
  if (result === 'queue_full') {
    const problem = `Expected at most ${LIMITS.queuedItems} queued messages, got another one: wait until some are delivered.`
    throw new MessageRejectedError(threadId, problem)
  }
}

/** Names the id that the caller gave: nobody has chosen that of a first message. */
function conflictProblem(staged: Staged): string {
  if ('messageId' in staged && staged.isFirst === true)
    return (
      `Expected thread id "${staged.threadId}" to be new or to come with the same first message, got another message: ` +
      'use another id, or send the message to the thread that is there.'
    )
  const named = 'messageId' in staged ? `message id "${staged.messageId}"` : `tool call id "${staged.id}"`
  return `Expected ${named} to be new, got other content under it before: use another id.`
}
