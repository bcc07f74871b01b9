import { rowParts } from './row-parts.js'
import { indexResults, toolCallParts, toolResultMessage } from './tool-exchange.js'

import type { LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { Side } from '../../protocol/plan.js'
import type { ResultIndex } from './tool-exchange.js'
import type { TranscriptRow } from './transcript-row.js'

/** Who is asked: the side that acts sees its own rows as `assistant` and all others as `user`. */
export interface Perspective {
  readonly type: 'ai_human' | 'dual_ai'
  readonly side: Side
}

/** Providers want the conversation to begin with the user: side B's begins with its own first words. */
const OPENING = 'The conversation begins.'
/** A request that ended with the assistant would be a prefill, which newer models refuse. */
const CONTINUE = 'Continue.'
/**
 * Only the start of a request may be `system` with every provider, so a system row in the midst of the
 * conversation is sent as user text that says what it is.
 */
const SYSTEM_NOTE = 'System note:\n'

/**
 * Turns a transcript into what one side is asked. Pure, and one row becomes the same bytes in every request: a
 * longer transcript only adds messages at the end, behind a `Continue.` that is dropped if there was one (T12).
 * Left out: rows below depth 0, rows that are neither completed nor interrupted, status lines, blank rows, the
 * other side's calls with their results, results without a call. Results follow their calls at once; a missing
 * one is made up.
 */
export function assemblePrompt(input: {
  readonly system: string
  readonly messages: readonly TranscriptRow[]
  readonly perspective: Perspective
}): LanguageModelV4Prompt {
  const rows = input.messages.filter(isInContext)
  const results = indexResults(rows)
  const messages = rows.flatMap((row) => rowMessages(row, input.perspective, results))
  if (messages[0]?.role !== 'user') messages.unshift(userMessage([textPart(OPENING)]))
  if (messages.at(-1)?.role === 'assistant') messages.push(userMessage([textPart(CONTINUE)]))
  if (input.system.trim() !== '') messages.unshift({ role: 'system', content: input.system })
  return messages
}

function isInContext(row: TranscriptRow): boolean {
  // Status lines of the runtime group things for a client's eye; they are not words for the model.
  if (row.depth > 0 || row.metadata?.['status_kind'] !== undefined) return false
  return row.status === 'completed' || row.status === 'interrupted'
}

function rowMessages(
  row: TranscriptRow,
  perspective: Perspective,
  results: ResultIndex,
): LanguageModelV4Message[] {
  // Results are sent with their calls, wherever their rows are.
  if (row.role === 'tool') return []
  const parts = rowParts(row)
  if (row.role === 'system') {
    return parts.length === 0 ? [] : [userMessage([textPart(SYSTEM_NOTE + parts.map(textOf).join('\n\n'))])]
  }
  if (!isOwn(row, perspective)) return parts.length === 0 ? [] : [userMessage(parts)]
  const calls = toolCallParts(row)
  if (parts.length + calls.length === 0) return []
  const message: LanguageModelV4Message = { role: 'assistant', content: [...parts, ...calls] }
  return calls.length === 0 ? [message] : [message, toolResultMessage(calls, results)]
}

function isOwn(row: TranscriptRow, { type, side }: Perspective): boolean {
  const sideOfRole = row.role === 'assistant' ? 'a' : 'b'
  return (type === 'ai_human' ? sideOfRole : (row.side ?? sideOfRole)) === side
}

function userMessage(content: LanguageModelV4TextPart[]): LanguageModelV4Message {
  return { role: 'user', content }
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text }
}

function textOf(part: LanguageModelV4TextPart): string {
  return part.text
}
