import type { CallOutcome } from '../../protocol/activities.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ToolFailure } from '../../protocol/payloads/tool-failure.js'
import type { Side } from '../../protocol/plan.js'
import type { SessionCall } from '../../store/calls/tool-calls.js'

/** The result of a call before its commit. An error is data for the model, never an exception. */
export interface CallResult {
  readonly outcome: CallOutcome
  readonly content: string
  readonly errorCode: string | null
  readonly attachments: readonly AttachmentRef[]
  readonly session: SessionCall | null
  readonly subagentId: string | null
  /** A row of the transcript after the result, written in the same transaction. */
  readonly followedBy: FollowingMessage | null
  /** The new status text of this thread, which its parent's registry shows. */
  readonly statusText: string | null
  /** The id under which the table `errors` holds the error of the tool's code. */
  readonly errorId: string | null
  /** The failure that the call met; null: its outcome and code say what is known. */
  readonly failure: ToolFailure | null
}

interface FollowingMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  readonly attachments: readonly AttachmentRef[]
  /** The side that speaks; null: the message comes from neither side. */
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
  failure: null,
} as const

export function successResult(content: string, more: Partial<CallResult> = {}): CallResult {
  return { ...NOTHING_MORE, ...more, outcome: 'succeeded', content }
}

/** The prefix of an error's text, as Standard Agents fixes it. */
export const ERROR_PREFIX = 'Error: '

/** An error result: the prefix of Standard Agents, then the reason for the model. */
export function failureResult(
  reason: string,
  errorCode: string | null = null,
  more: Partial<CallResult> = {},
): CallResult {
  return { ...NOTHING_MORE, ...more, outcome: 'failed', errorCode, content: `${ERROR_PREFIX}${reason}` }
}

/** The result of an interrupted side effect. Its outcome is called `unknown` everywhere, and never anything else. */
export function unknownResult(why = 'the process that ran it ended before it answered'): CallResult {
  const content =
    `The outcome of this call is unknown: ${why}. ` +
    'It may or may not have taken effect. Check before you call it again.'
  return { ...NOTHING_MORE, outcome: 'unknown', errorCode: 'unknown', content }
}

/** The text of an error result without its prefix. */
export function reasonOf(content: string): string {
  return content.startsWith(ERROR_PREFIX) ? content.slice(ERROR_PREFIX.length) : content
}

/** The result of a call that a person or a stop ended; its error code equals its outcome. */
export function outcomeResult(outcome: 'denied' | 'interrupted' | 'cancelled', content: string): CallResult {
  return { ...NOTHING_MORE, outcome, errorCode: outcome, content }
}

/** Models and callers would take an answer without this note for a complete one. */
const NOTE = '(The answer ends here, because it reached its limit of length.)'

/** Returns the text, with a note at its end if the limit of length truncated it. */
export function withCutNote({
  content,
  isCut,
}: {
  readonly content: string
  readonly isCut: boolean
}): string {
  return isCut ? `${content}\n\n${NOTE}` : content
}
