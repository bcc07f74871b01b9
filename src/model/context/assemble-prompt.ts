import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
} from '@ai-sdk/provider'
import { CUT_OFF } from '../../protocol/message.js'
import { assistantParts, rowsOfTurn } from './answer-parts.js'
import type { Author } from './answer-parts.js'
import { attachmentNote } from './attachment-note.js'
import type { ReadFiles } from './inlined-files.js'
import { isOwn } from './perspective.js'
import type { Perspective } from './perspective.js'
import { fileParts, filesByPath, rowParts, withoutImitations } from './row-parts.js'
import { indexResults, toolCallParts, toolResultMessage } from './tool-exchange.js'
import type { ResultIndex } from './tool-exchange.js'
import type { TranscriptRow } from './transcript-row.js'

/** Providers want the conversation to begin with the user: side B's begins with its own first words. */
const OPENING = 'The conversation begins.'
/** A request that ended with the assistant would be a prefill, which newer models refuse. */
const CONTINUE: LanguageModelV4Message = { role: 'user', content: [{ type: 'text', text: 'Continue.' }] }
/** The same after an answer that is cut off. */
const CONTINUE_CUT: LanguageModelV4Message = {
  role: 'user',
  content: [
    {
      type: 'text',
      text: 'Your answer was cut off, because it reached its limit of length. Go on exactly where it ends, and repeat nothing.',
    },
  ],
}
/**
 * Only the start of a request may be `system` with every provider, so a system row in the midst of the
 * conversation is sent as user text that says what it is.
 */
export const SYSTEM_NOTE = 'System note:\n'
const GAP_NOTE = `${SYSTEM_NOTE}Earlier messages of this conversation are left out here.`
/** Only user messages can hold files with every provider, so those of results follow in one. */
const RESULT_FILES = 'Files of the results above:'

export interface PromptInput {
  readonly system: string
  readonly messages: readonly TranscriptRow[]
  readonly perspective: Perspective
  /** The files to send; all others are told by their path. */
  readonly files?: ReadFiles
  /** Who is asked, and gets the parts of its own answers as they were; null: all answers are words and calls only. */
  readonly author?: Author | null
  /** The window was cut before this position, and what is before it in `messages` is the opening of the run. */
  readonly gapBefore?: number | null
}

/**
 * Turns a transcript into what one side is asked. Pure, and one row becomes the same bytes in every request: a
 * longer transcript only adds messages at the end, behind a `Continue.` that is dropped if there was one (T12).
 * Left out: rows below depth 0, rows that are neither completed nor interrupted, status lines, blank rows, the
 * other side's calls with their results, results without a call. Results follow their calls at once; a missing
 * one is made up.
 */
export function assemblePrompt(input: PromptInput): LanguageModelV4Prompt {
  const rows = input.messages.filter(isInContext)
  const results = indexResults(rows)
  const seen = new Set<string>()
  const turn = rowsOfTurn(rows, input.perspective)
  const asked = rows.map((row) => ({ row, messages: rowMessages(row, input, { results, seen, turn }) }))
  const gap = input.gapBefore ?? null
  const kept = gap === null ? 0 : asked.findLastIndex(({ row }) => (row.position ?? gap) < gap) + 1
  const messages = asked.slice(0, kept).flatMap((row) => row.messages)
  if (gap !== null) messages.push(userMessage([textPart(GAP_NOTE)]))
  messages.push(...asked.slice(kept).flatMap((row) => row.messages))
  if (messages[0]?.role !== 'user') messages.unshift(userMessage([textPart(OPENING)]))
  if (messages.at(-1)?.role === 'assistant')
    messages.push(rows.at(-1)?.finish_reason === CUT_OFF ? CONTINUE_CUT : CONTINUE)
  if (input.system.trim() !== '') messages.unshift({ role: 'system', content: input.system })
  return messages
}

/** Whether a message was only put at the end because a request must not end with the assistant. */
export function isContinue(message: LanguageModelV4Message | undefined): boolean {
  return message === CONTINUE || message === CONTINUE_CUT
}

function isInContext(row: TranscriptRow): boolean {
  // Status lines of the runtime group things for a client's eye; they are not words for the model.
  if (row.depth > 0 || row.metadata?.['status_kind'] !== undefined) return false
  return row.status === 'completed' || row.status === 'interrupted'
}

interface Exchange {
  readonly results: ResultIndex
  /** Calls that are in the request already: a hook may have doubled a row, and providers want each id once. */
  readonly seen: Set<string>
  readonly turn: ReadonlySet<TranscriptRow>
}

function rowMessages(
  row: TranscriptRow,
  { perspective, files, author = null }: PromptInput,
  { results, seen, turn }: Exchange,
): readonly LanguageModelV4Message[] {
  // Results are sent with their calls, wherever their rows are.
  if (row.role === 'tool') return []
  const own = isOwn(row, perspective)
  const parts = rowParts(own || row.role === 'system' ? row : withoutImitations(row), files)
  if (row.role === 'system') {
    return parts.length === 0 ? [] : [userMessage([textPart(SYSTEM_NOTE + parts.map(textOf).join('\n\n'))])]
  }
  if (!own) return parts.length === 0 ? [] : [userMessage([...parts, ...fileParts(row.attachments, files)])]
  const calls = toolCallParts(row).filter(({ toolCallId }) => !seen.has(toolCallId))
  for (const { toolCallId } of calls) seen.add(toolCallId)
  const content = assistantParts(row, author, {
    text: row.content ?? '',
    note: attachmentNote(row.attachments, files),
    calls,
    files: filesByPath(row.attachments, files),
    inTurn: turn.has(row),
  })
  if (content.length === 0) return []
  return [{ role: 'assistant', content: [...content] }, ...exchangeMessages(calls, results, files)]
}

function exchangeMessages(
  calls: readonly LanguageModelV4ToolCallPart[],
  results: ResultIndex,
  files: ReadFiles | undefined,
): readonly LanguageModelV4Message[] {
  if (calls.length === 0) return []
  const message = toolResultMessage(calls, results, files)
  const rows = calls.flatMap(({ toolCallId }) => results.get(toolCallId) ?? [])
  const shown = rows.flatMap((row) => fileParts(row.attachments, files))
  return shown.length === 0 ? [message] : [message, userMessage([textPart(RESULT_FILES), ...shown])]
}

function userMessage(content: (LanguageModelV4TextPart | LanguageModelV4FilePart)[]): LanguageModelV4Message {
  return { role: 'user', content }
}

function textPart(text: string): LanguageModelV4TextPart {
  return { type: 'text', text }
}

function textOf(part: LanguageModelV4TextPart): string {
  return part.text
}
