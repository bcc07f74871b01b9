import { LIMITS } from '../protocol/limits.js'
import {
  MessageRejectedError,
  ThreadConflictError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from '../protocol/thread-error.js'
import type { StageResult } from '../store/stage-message.js'

/** What was staged: a message, or a tool call. */
export type Staged = { readonly threadId: string } & (
  | { readonly messageId: string }
  | { readonly toolCallId: string }
)

/** @throws what tells the caller why nothing was accepted: ThreadConflictError and the like */
export function refuseStaged(result: StageResult, staged: Staged): void {
  const { threadId } = staged
  if (result === 'conflict') {
    const [what, id] =
      'messageId' in staged ? ['message', staged.messageId] : ['tool call', staged.toolCallId]
    const problem = `Expected ${what} id "${id}" to be new, got other content under it before: use another id.`
    throw new ThreadConflictError(threadId, { problem, ...('messageId' in staged && { messageId: id }) })
  }
  if (result === 'terminated') throw new ThreadTerminatedError(threadId, 'terminated')
  if (result === 'missing_thread') throw new ThreadNotFoundError(threadId)
  if (result === 'queue_full') {
    const problem = `Expected at most ${LIMITS.queuedItems} queued messages, got another one: wait until some are delivered.`
    throw new MessageRejectedError(threadId, problem)
  }
}
