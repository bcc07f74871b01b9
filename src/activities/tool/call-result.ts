import { createHash } from 'node:crypto'
import { parseObject } from '../../definitions/plan/tool-arguments.js'
import type { CallOutcome } from '../../protocol/activities.js'
import { CUT_CALL, CUT_OFF } from '../../protocol/message.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'
import type { SessionCall, ToolCallRecord } from '../../store/calls/tool-calls.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Store } from '../../store/store.js'

/** The result of a call on its way into the store. An error is data for the model, never an exception. */
export interface CallResult {
  readonly outcome: CallOutcome
  readonly content: string
  readonly errorCode: string | null
  readonly attachments: readonly AttachmentRef[]
  readonly session: SessionCall | null
  readonly subagentId: string | null
  /** A row of the transcript after the result, written in the same transaction. */
  readonly followedBy: FollowingMessage | null
  /** The status text of this thread from now on, which its parent's registry shows. */
  readonly statusText: string | null
  /** The id under which the table `errors` holds what the tool's code has thrown. */
  readonly errorId: string | null
}

export interface FollowingMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly attachments: readonly AttachmentRef[]
  /** The side that speaks; null: the message comes from outside of both sides. */
  readonly side: Side | null
  readonly prompt: string | null
}

const NOTHING_MORE = {
  errorCode: null,
  attachments: [],
  session: null,
  subagentId: null,
  followedBy: null,
  statusText: null,
  errorId: null,
} as const

export function succeeded(content: string, more: Partial<CallResult> = {}): CallResult {
  return { ...NOTHING_MORE, ...more, outcome: 'succeeded', content }
}

/** The prefix of an error's text, as Standard Agents fixes it. */
export const ERROR_PREFIX = 'Error: '

/** An error result: the prefix of Standard Agents, and the reason in words for the model. */
export function failed(
  reason: string,
  errorCode: string | null = null,
  more: Partial<CallResult> = {},
): CallResult {
  return { ...NOTHING_MORE, ...more, outcome: 'failed', errorCode, content: `${ERROR_PREFIX}${reason}` }
}

/** A person did not allow the call; the model reads why. */
export function denied(reason: string | null): CallResult {
  const why = reason === null || reason.trim() === '' ? '' : ` The reason: ${reason}`
  const content = `Error: A person did not allow this call, so it was not made.${why}`
  return { ...NOTHING_MORE, outcome: 'denied', errorCode: 'denied', content }
}

/** The result of an interrupted side effect: its outcome is unknown, and no other word is used for it. */
export function unknown(why = 'the process that ran it ended before it answered'): CallResult {
  const content =
    `The outcome of this call is unknown: ${why}. ` +
    'It may or may not have taken effect. Check before you call it again.'
  return { ...NOTHING_MORE, outcome: 'unknown', errorCode: 'unknown', content }
}

/** The call's activity was ended by an operator, or by a worker that cannot run it: its code is not run (any more). */
export function endedFromOutside(hasBegun: boolean): CallResult {
  return hasBegun
    ? unknown('it was ended from outside before it answered')
    : failed('The call was ended from outside before it began, so nothing has happened.', 'not_begun')
}

export function interrupted(): CallResult {
  return { ...NOTHING_MORE, outcome: 'interrupted', errorCode: 'interrupted', content: CUT_CALL.interrupted }
}

export function cancelled(): CallResult {
  return { ...NOTHING_MORE, outcome: 'cancelled', errorCode: 'cancelled', content: CUT_CALL.cancelled }
}

/** A digest by which errors that differ only in quoted parts, paths and numbers are the same error. */
export function errorDigest(content: string): string {
  const normalised = content
    .toLowerCase()
    .replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '')
    .replace(/\/\S+/g, '')
    .replace(/\d+/g, '')
    .slice(0, 120)
  return createHash('sha256').update(normalised).digest('hex').slice(0, 16)
}

/**
 * Notes about an answer that its limit of length cut off, for models and callers that would take it for a whole one.
 */

const NOTE = '(The answer ends here, because it reached its limit of length.)'

const CUT_ARGUMENTS =
  'The arguments of this call were cut off, because the answer reached its limit of length, and the call was not made. ' +
  'Call the tool again with shorter arguments, or do the work in several calls.'

const CUT_EMPTY =
  'Your last answer reached its limit of length before it said anything. Answer with a short text, or call a tool.'

/** The text, with a note where it is cut off. */
export function withCutNote({
  content,
  isCut,
}: {
  readonly content: string
  readonly isCut: boolean
}): string {
  return isCut ? `${content}\n\n${NOTE}` : content
}

/** Replaces the error of a call whose arguments were cut off: the new one says so. */
export async function explainCutCall(
  store: Store,
  { thread_id: threadId, message_id: messageId, arguments: args }: ToolCallRecord,
  result: CallResult,
): Promise<CallResult> {
  const isEmpty = result.errorCode === 'empty_answer'
  if (!isEmpty && (result.errorCode !== 'invalid_arguments' || parseObject(args).ok)) return result
  const answer = await store.read((db) => findMessage(db, threadId, messageId))
  if (answer?.finish_reason !== CUT_OFF) return result
  return isEmpty ? failed(CUT_EMPTY, 'empty_answer') : failed(CUT_ARGUMENTS, 'arguments_cut')
}
