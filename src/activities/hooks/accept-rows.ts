import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { MessageRole } from '../../protocol/message.js'
import type { TranscriptMessage } from '../../store/messages/message-row.js'
import { kindOf } from '../thread-state/strict-json.js'
import { asFields, changeOf } from './accept-message.js'
import { InvalidAnswer } from './hook-failure.js'

const ROLES: readonly MessageRole[] = ['system', 'user', 'assistant', 'tool']

/**
 * The rows of one request: some left out, changed or made up. What a row leaves out is as in the row of its id; one
 * without such a row is new. @throws InvalidAnswer
 */
export function acceptRows(
  answer: unknown,
  before: readonly TranscriptMessage[],
  run: number,
): readonly TranscriptMessage[] | undefined {
  if (answer === undefined || answer === null) return undefined
  if (!Array.isArray(answer)) throw new InvalidAnswer(`Expected a list of messages, got ${kindOf(answer)}.`)
  const known = new Map(before.map((row) => [row.id, row]))
  return answer.map((given: unknown, index) =>
    acceptRow(asFields(given, `messages[${index}]`), known, { run, index }),
  )
}

function acceptRow(
  given: { readonly [field: string]: unknown },
  known: ReadonlyMap<string, TranscriptMessage>,
  { run, index }: { readonly run: number; readonly index: number },
): TranscriptMessage {
  const id = typeof given['id'] === 'string' ? given['id'] : `hook_row_${index}`
  const base = known.get(id)
  const role = ROLES.find((one) => one === (given['role'] ?? base?.role))
  if (role === undefined)
    throw new InvalidAnswer(`Expected messages[${index}] to have a role of ${ROLES.join(', ')}.`)
  const row: TranscriptMessage = { ...BLANK_ROW, run, ...base, id, role }
  return {
    ...row,
    ...changeOf(given, row),
    name: textField(given, row, 'name'),
    tool_calls: textField(given, row, 'tool_calls'),
    tool_call_id: textField(given, row, 'tool_call_id'),
    reasoning_content: textField(given, row, 'reasoning_content'),
    tool_status: given['tool_status'] === undefined ? row.tool_status : toolStatus(given['tool_status']),
  }
}

function textField<Name extends 'name' | 'tool_calls' | 'tool_call_id' | 'reasoning_content'>(
  given: { readonly [field: string]: unknown },
  row: TranscriptMessage,
  name: Name,
): string | null {
  const value = given[name]
  if (value === undefined) return row[name]
  if (value === null || typeof value === 'string') return value
  throw new InvalidAnswer(`Expected ${name} of a message to be a text or null, got ${kindOf(value)}.`)
}

function toolStatus(value: unknown): TranscriptMessage['tool_status'] {
  if (value === null || value === 'success' || value === 'error') return value
  throw new InvalidAnswer('Expected tool_status of a message to be success, error or null.')
}
