import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
} from '@ai-sdk/provider'
import { attachmentNote } from './inlined-files.js'
import type { ReadFiles } from './inlined-files.js'
import { parseJson, readToolCalls } from './transcript-row.js'
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
function missingResult(toolCallId: string, toolName: string): LanguageModelV4ToolResultPart {
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

/**
 * Gives each call its result in the message behind it, and drops results without a call: providers refuse a request in
 * which one side of a pair is missing. What is whole stays as it is.
 */
export function pairToolMessages(prompt: readonly LanguageModelV4Message[]): LanguageModelV4Prompt {
  return prompt.flatMap((message, index) => {
    if (message.role === 'tool') return []
    const calls = callsOf(message)
    if (calls.length === 0) return [message]
    const next = prompt[index + 1]
    const given = next?.role === 'tool' ? next : undefined
    const results = new Map(
      (given?.content ?? []).flatMap((part) =>
        part.type === 'tool-result' ? [[part.toolCallId, part] as const] : [],
      ),
    )
    const content = calls.map(
      ({ toolCallId, toolName }): LanguageModelV4ToolResultPart =>
        results.get(toolCallId) ?? missingResult(toolCallId, toolName),
    )
    return [message, { ...given, role: 'tool', content }]
  })
}

function callsOf(message: LanguageModelV4Message) {
  if (message.role !== 'assistant') return []
  return message.content.filter((part) => part.type === 'tool-call')
}
