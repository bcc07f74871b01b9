import type { ToolResult } from '../../definitions/tool-result.js'
import { MessageRejectedError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  isObject,
  unwritableJson,
  utf8Length,
  variableNameProblem,
  variableValueProblem,
} from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import { checkAttachment } from '../messages/attachments.js'
import type { GivenAttachment } from '../messages/attachments.js'

/** The answer to a request: for an approval, for missing variables, or for a call that waits for its result. */
export type Answer =
  | {
      readonly approved: boolean
      /** The reason of a denial, for the model. */
      readonly reason?: string
      /** Who decided, as the caller names it. */
      readonly by?: string
    }
  | { readonly env: Readonly<Record<string, string>> }
  | { readonly result: ToolResult }

/** An answer whose fields are all validated. */
type CheckedAnswer =
  | { readonly kind: 'approval'; readonly approved: boolean; readonly reason?: string; readonly by?: string }
  | { readonly kind: 'variables'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'call'; readonly result: CheckedResult }

/** A part of a result: a text, or one of the result's files by its place in them. */
type CheckedPart = { readonly text: string } | { readonly file: number }

export interface CheckedResult {
  readonly fields: Readonly<Record<string, JsonValue>>
  readonly parts: readonly CheckedPart[] | null
  /** The files of the parts, then those of `attachments`. */
  readonly files: readonly GivenAttachment[]
  readonly attached: number | null
}

/** Validates an answer. @throws MessageRejectedError that names what was expected and what was given */
export function checkAnswer(threadId: string, answer: unknown): CheckedAnswer {
  const given = isObject(answer) ? answer : {}
  const problem = formProblem(given)
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const { approved, reason, by, env, result } = given as {
    approved?: boolean
    reason?: string
    by?: string
    env?: Record<string, string>
    result?: ToolResult
  }
  if (result !== undefined) return { kind: 'call', result: checkResult(threadId, result) }
  if (env !== undefined) return { kind: 'variables', values: env }
  return {
    kind: 'approval',
    approved: approved === true,
    ...(reason !== undefined && { reason }),
    ...(by !== undefined && { by }),
  }
}

const FORMS = ['approved', 'env', 'result'] as const

function formProblem(given: Readonly<Record<string, unknown>>): string | undefined {
  const [form, other] = FORMS.filter((name) => given[name] !== undefined)
  if (form === undefined || other !== undefined)
    return `Expected an answer with one of "approved", "env" and "result", got ${other === undefined ? 'none' : 'several'} of them.`
  if (form === 'approved') return approvalProblem(given)
  if (form === 'result') return resultProblem(given['result'])
  const { env } = given
  return isObject(env) && Object.keys(env).length === 0
    ? 'Expected "env" to have the value of a variable, got none.'
    : variablesProblem(env)
}

function approvalProblem({ approved, reason, by }: Readonly<Record<string, unknown>>): string | undefined {
  if (typeof approved !== 'boolean') return `Expected "approved" to be true or false, got ${typeof approved}.`
  for (const [name, text] of [
    ['reason', reason],
    ['by', by],
  ] as const) {
    if (text === undefined) continue
    if (typeof text !== 'string') return `Expected "${name}" to be a text, got ${typeof text}.`
    if (utf8Length(text) > LIMITS.answerTextBytes)
      return `Expected "${name}" to have at most ${LIMITS.answerTextBytes} bytes, got ${utf8Length(text)}.`
  }
  return undefined
}

function resultProblem(result: unknown): string | undefined {
  if (!isObject(result)) return `Expected "result" to be the result of a tool, got ${typeof result}.`
  const { status, error, error_code: code, content, attachments } = result
  if (status !== 'success' && status !== 'error')
    return 'Expected "result.status" to be "success" or "error".'
  if (error !== undefined && typeof error !== 'string')
    return `Expected "result.error" to be a text, got ${typeof error}.`
  if (code !== undefined && typeof code !== 'string')
    return `Expected "result.error_code" to be a text, got ${typeof code}.`
  if (attachments !== undefined && !Array.isArray(attachments))
    return `Expected "result.attachments" to be a list, got ${typeof attachments}.`
  if (content !== undefined && !(Array.isArray(content) && content.every(isPart)))
    return 'Expected "result.content" to be a list of { type: "text", text } and { type: "file", file }.'
  const files = (attachments?.length ?? 0) + (content?.length ?? 0)
  if (files > LIMITS.messageAttachments)
    return `Expected at most ${LIMITS.messageAttachments} parts and attachments, got ${files}.`
  return sizeProblem(result)
}

function isPart(part: unknown): boolean {
  if (!isObject(part)) return false
  return part['type'] === 'text'
    ? typeof part['text'] === 'string'
    : part['type'] === 'file' && isObject(part['file'])
}

/** Checks the size of what is stored as JSON: files have limits of their own. */
function sizeProblem({ attachments: _files, content, ...fields }: Readonly<Record<string, unknown>>) {
  const texts = Array.isArray(content) ? content.filter((part: { type: string }) => part.type === 'text') : []
  let bytes: number
  try {
    bytes = utf8Length(JSON.stringify([fields, texts]))
  } catch (error) {
    return `Expected a "result" that JSON can carry, ${unwritableJson(error)}`
  }
  if (bytes <= LIMITS.answerBytes) return undefined
  return `Expected a result of at most ${LIMITS.answerBytes} bytes, got ${bytes}: attach it as a file.`
}

function checkResult(threadId: string, { content, attachments, ...fields }: ToolResult): CheckedResult {
  const files: GivenAttachment[] = []
  const add = (file: Parameters<typeof checkAttachment>[1]): number =>
    files.push(checkAttachment(threadId, file)) - 1
  const parts = content?.map((part) =>
    part.type === 'text' ? { text: part.text } : { file: add(part.file) },
  )
  for (const file of attachments ?? []) add(file)
  return {
    // The check has shown that JSON can carry it.
    fields: JSON.parse(JSON.stringify(fields)) as Record<string, JsonValue>,
    parts: parts ?? null,
    files,
    attached: attachments?.length ?? null,
  }
}

/** Validates values of variables. The problem never contains a value, which may be a secret. */
export function variablesProblem(values: unknown): string | undefined {
  if (!isObject(values)) return `Expected variables as { name: value }, got ${kindOf(values)}.`
  const entries = Object.entries(values)
  if (entries.length > LIMITS.startNames)
    return `Expected at most ${LIMITS.startNames} variables at once, got ${entries.length}: give them in parts.`
  for (const [name, value] of entries) {
    const problem = variableNameProblem(name) ?? variableValueProblem(name, value)
    if (problem !== undefined) return problem
  }
  return undefined
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : typeof value
}
