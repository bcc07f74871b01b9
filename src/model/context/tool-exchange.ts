import { attachmentNote } from './attachment-note.js'
import { parseJson } from './parse-json.js'
import { readToolCalls } from './tool-calls.js'

import type {
  LanguageModelV4Message,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import type { ReadFiles } from './inlined-files.js'
import type { TranscriptRow } from './transcript-row.js'

/** Finds the result of a call by its id. */
export type ResultIndex = ReadonlyMap<string, TranscriptRow>

/** The names that every provider takes back; one bad name in the history would make each later request fail. */
const TOOL_NAME = /^[\w-]{1,128}$/
const SHORTEST_NAME_LIMIT = 64

/** Tool rows by the call that they answer; the first one counts, so that a request stays as it was sent (T12). */
export function indexResults(rows: readonly TranscriptRow[]): ResultIndex {
  const results = new Map<string, TranscriptRow>()
  for (const row of rows) {
    const id = row.tool_call_id
    if (row.role === 'tool' && id !== null && !results.has(id)) results.set(id, row)
  }
  return results
}

/** The calls of a row as a provider takes them back. */
export function toolCallParts(row: TranscriptRow): LanguageModelV4ToolCallPart[] {
  return readToolCalls(row.tool_calls).map(({ id, function: { name, arguments: input } }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: acceptableName(name),
    input: readArguments(input),
  }))
}

/** One message with a result for each call, in the order of the calls: providers refuse a call without one. */
export function toolResultMessage(
  calls: readonly LanguageModelV4ToolCallPart[],
  results: ResultIndex,
  files?: ReadFiles,
): LanguageModelV4Message {
  const content = calls.map(({ toolCallId, toolName }): LanguageModelV4ToolResultPart => {
    const row = results.get(toolCallId)
    if (row === undefined) return missingResult(toolCallId, toolName)
    return { type: 'tool-result', toolCallId, toolName, output: resultOutput(row, files) }
  })
  return { role: 'tool', content }
}

/** Stands for a result that is not there. */
export function missingResult(toolCallId: string, toolName: string): LanguageModelV4ToolResultPart {
  const output = { type: 'error-text', value: 'No result was recorded.' } as const
  return { type: 'tool-result', toolCallId, toolName, output }
}

function resultOutput(row: TranscriptRow, files: ReadFiles | undefined): LanguageModelV4ToolResultOutput {
  const texts = [row.content ?? '', attachmentNote(row.attachments, files)].filter(
    (text) => text.trim() !== '',
  )
  const value = texts.length === 0 ? '(no output)' : texts.join('\n\n')
  return { type: row.tool_status === 'error' ? 'error-text' : 'text', value }
}

/** Providers take only an object back; what was broken in it is told by the error result of its call. */
function readArguments(json: string): object {
  const value = parseJson(json)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
}

function acceptableName(name: string): string {
  if (TOOL_NAME.test(name)) return name
  return name.slice(0, SHORTEST_NAME_LIMIT).replaceAll(/[^\w-]/g, '_') || 'unnamed'
}
