/**
 * The boundary between hooks and what is stored or sent (K-16): what a hook answers is checked before anything of it is used.
 * Attachments and metadata are values on this side, never JSON text.
 *
 * Invariant: a check throws InvalidAnswer, and never anything else, for what cannot be used.
 */
import { isDeepStrictEqual } from 'node:util'
import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { AttachmentRef, Message, MessageRole } from '../../protocol/message.js'
import type { TranscriptMessage } from '../../store/messages/message-row.js'
import { jsonObjectCopy, kindOf } from '../thread-state/strict-json.js'
import { InvalidAnswer } from './hook-batch.js'

/** What a create hook may change of a message. */
interface MessageChange {
  readonly content: string | null
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
  readonly attachments: readonly AttachmentRef[]
}

const CHANGEABLE: ReadonlySet<string> = new Set(['content', 'silent', 'metadata', 'attachments'])

/** Undefined for no answer, which leaves the message as it is. Fields that are left out stay as they were. @throws InvalidAnswer */
export function acceptMessage(answer: unknown, message: Message): Message | undefined {
  if (answer === undefined || answer === null) return undefined
  const given = asFields(answer, 'a message')
  for (const [name, value] of Object.entries(given)) {
    if (CHANGEABLE.has(name) || value === undefined) continue
    if (!isDeepStrictEqual(value, Reflect.get(message, name)))
      throw new InvalidAnswer(`Expected ${name} of the message to be left as it is: a hook cannot change it.`)
  }
  return { ...message, ...changeOf(given, message) }
}

/** The fields that a create hook may change, as they are after the hook. */
function changeOf(given: { readonly [name: string]: unknown }, message: MessageChange): MessageChange {
  const { content = message.content, silent = message.silent } = given
  if (content !== null && typeof content !== 'string')
    throw new InvalidAnswer(`Expected content of the message to be a text or null, got ${kindOf(content)}.`)
  if (typeof silent !== 'boolean')
    throw new InvalidAnswer(`Expected silent of the message to be true or false, got ${kindOf(silent)}.`)
  const { metadata, attachments } = given
  return {
    content,
    silent,
    metadata: metadata === undefined ? message.metadata : acceptMetadata(metadata),
    attachments: attachments === undefined ? message.attachments : acceptAttachments(attachments),
  }
}

function acceptMetadata(metadata: unknown): Record<string, unknown> | null {
  if (metadata === null) return null
  try {
    return { ...jsonObjectCopy(metadata, 'metadata') }
  } catch (error) {
    throw new InvalidAnswer(error instanceof Error ? error.message : String(error))
  }
}

/** A list of references: JSON text would be stored as a text that no reader can use. */
function acceptAttachments(attachments: unknown): readonly AttachmentRef[] {
  if (!Array.isArray(attachments))
    throw new InvalidAnswer(
      `Expected attachments of the message to be a list of references, got ${kindOf(attachments)}.`,
    )
  return attachments.map((given: unknown, index) => {
    const file = asFields(given, `attachments[${index}]`)
    const texts = ['id', 'path', 'name', 'mimeType'].every((name) => typeof file[name] === 'string')
    if (!texts || file['type'] !== 'file' || typeof file['size'] !== 'number')
      throw new InvalidAnswer(
        `Expected attachments[${index}] to be a reference { id, type: "file", path, name, mimeType, size }.`,
      )
    // Checked above.
    return { ...file } as unknown as AttachmentRef
  })
}

export function asFields(value: unknown, name: string): { readonly [field: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new InvalidAnswer(`Expected ${name}, got ${kindOf(value)}.`)
}

const ROLES: readonly MessageRole[] = ['system', 'user', 'assistant', 'tool']

/**
 * The rows of one request as a hook leaves them. A field that a row leaves out is as in the stored row of the same id; a row
 * without such an id is new. @throws InvalidAnswer
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

const REQUEST_ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool']

/**
 * A whole request as it goes to the provider. Each tool call must have its result: providers refuse one without the other
 * (K-17), and nothing behind this pairs them. @throws InvalidAnswer
 */
export function acceptRequest(answer: unknown): LanguageModelV4Prompt | undefined {
  if (answer === undefined || answer === null) return undefined
  if (!Array.isArray(answer)) throw new InvalidAnswer(`Expected a list of messages, got ${kindOf(answer)}.`)
  if (answer.length === 0)
    throw new InvalidAnswer('Expected a request with a message in it, got an empty list.')
  const calls: unknown[] = []
  const results: unknown[] = []
  for (const [index, given] of answer.entries()) {
    for (const part of partsOf(asFields(given, `messages[${index}]`), index)) {
      if (part['type'] === 'tool-call') calls.push(part['toolCallId'])
      if (part['type'] === 'tool-result') results.push(part['toolCallId'])
    }
  }
  const alone = [
    ...calls.filter((id) => !results.includes(id)),
    ...results.filter((id) => !calls.includes(id)),
  ]
  if (alone.length > 0)
    throw new InvalidAnswer(`Expected each tool call with its result, got ${alone.length} of them alone.`)
  // Checked above as far as the runtime depends on it.
  return answer as LanguageModelV4Prompt
}

function partsOf(
  { role, content }: { readonly [field: string]: unknown },
  index: number,
): readonly { readonly [field: string]: unknown }[] {
  if (!REQUEST_ROLES.includes(role))
    throw new InvalidAnswer(`Expected messages[${index}] to have a role of ${REQUEST_ROLES.join(', ')}.`)
  if (role === 'system' ? typeof content !== 'string' : !Array.isArray(content))
    throw new InvalidAnswer(
      `Expected content of messages[${index}] to be ${role === 'system' ? 'a text' : 'a list of parts'}.`,
    )
  if (!Array.isArray(content)) return []
  return content.map((part: unknown) => asFields(part, `content of messages[${index}] as a list of parts`))
}
