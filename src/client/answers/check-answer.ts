import type { ToolResult } from '../../definitions/tool-result.js'
import type { GrantScope } from '../../store/calls/grants.js'
import { isExpiry } from '../../policy/approval.js'
import { MessageRejectedError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import {
  isObject,
  unwritableJson,
  utf8Length,
  variableNameProblem,
  variableValueProblem,
} from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import { checkAttachment } from '../messages/attachments.js'
import type { GivenAttachment } from '../messages/attachments.js'

/**
 * The answer to a request: for an approval, for missing variables, or for a call that waits for its result. A result for an
 * approval stands in the place of the call, which is not made, and the model reads that a person gave it.
 */
export type Answer =
  | {
      readonly approved: boolean
      /** The reason of a denial, for the model. */
      readonly reason?: string
      /** Who decided, as the caller names it; `caller` with a user decides it. */
      readonly by?: string
      /**
       * With `approved: true`: the call of a tool runs with these arguments in the place of those that the model wrote. They have to
       * fit the schema, and the policy judges them again. Fields that are shown as `[redacted]` keep their values.
       */
      readonly arguments?: JsonObject
      /** With `approved: true`: what is asked later, and is the same, is approved. */
      readonly remember?: Remember
      /**
       * For a request about a budget, with `approved: true`: the new limit, in its own unit.
       * @default the limit once more, on top of it
       */
      readonly raise?: number
    }
  | { readonly env: Readonly<Record<string, string>> }
  | { readonly result: ToolResult; readonly by?: string }

/** An approval that is remembered: a grant. It answers what would be asked, and nothing that is denied. */
export interface Remember {
  /** For calls of this thread, of all threads of its tree, or of all threads of its user. */
  readonly for: GrantScope
  /**
   * `capabilities`: for calls of any tool that needs no other capabilities. `arguments`: for calls of this tool with the same
   * arguments. @default 'capabilities' where the tool has some, else 'arguments'
   */
  readonly what?: 'capabilities' | 'arguments'
  /** Milliseconds until it ends. @default it holds until it is revoked */
  readonly expiresIn?: number
}

/** An answer whose fields are all validated. */
type CheckedAnswer =
  | CheckedApproval
  | { readonly kind: 'variables'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'call'; readonly result: CheckedResult; readonly by?: string }

interface CheckedApproval {
  readonly kind: 'approval'
  readonly approved: boolean
  readonly reason?: string
  readonly by?: string
  readonly arguments?: JsonObject
  readonly remember?: Remember
  readonly raise?: number
}

/** A part of a result: a text, or one of the result's files by its place in them. */
type CheckedPart = { readonly text: string } | { readonly file: number }

export interface CheckedResult {
  readonly fields: Readonly<Record<string, JsonValue>>
  readonly parts: readonly CheckedPart[] | null
  /** The files of the parts, then those of `attachments`. */
  readonly files: readonly GivenAttachment[]
  readonly attached: number | null
}

/** Whether an answer has a form at all, and only one. */
export function hasOneForm(answer: unknown): boolean {
  return isObject(answer) && FORMS.filter((name) => answer[name] !== undefined).length === 1
}

const ANY_FORM = 'with one of "approved", "env" and "result"'

/**
 * Validates an answer; `forms`: those that its request takes, where it is known.
 * @throws MessageRejectedError that names what was expected and what was given
 */
export function checkAnswer(threadId: string, answer: unknown, forms: string = ANY_FORM): CheckedAnswer {
  const given = isObject(answer) ? answer : {}
  const problem = formProblem(given, forms)
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const {
    approved,
    reason,
    by,
    env,
    result,
    arguments: args,
    remember,
    raise,
  } = given as Partial<Omit<CheckedApproval, 'kind'>> & { env?: Record<string, string>; result?: ToolResult }
  const named = by === undefined ? {} : { by }
  if (result !== undefined) return { kind: 'call', result: checkResult(threadId, result), ...named }
  if (env !== undefined) return { kind: 'variables', values: env }
  return {
    kind: 'approval',
    approved: approved === true,
    ...(reason !== undefined && { reason }),
    ...named,
    // As JSON, so that what is stored is what was given.
    ...(args !== undefined && { arguments: JSON.parse(JSON.stringify(args)) as JsonObject }),
    ...(remember !== undefined && { remember }),
    ...(raise !== undefined && { raise }),
  }
}

const FORMS = ['approved', 'env', 'result'] as const

function formProblem(given: Readonly<Record<string, unknown>>, forms: string): string | undefined {
  const [form] = FORMS.filter((name) => given[name] !== undefined)
  if (form === undefined || !hasOneForm(given))
    return `Expected an answer ${forms}, got ${form === undefined ? 'none' : 'several'} of them.`
  if (form === 'approved') return approvalProblem(given)
  if (form === 'result') return textProblem('by', given['by']) ?? resultProblem(given['result'])
  const { env } = given
  return isObject(env) && Object.keys(env).length === 0
    ? 'Expected "env" to have the value of a variable, got none.'
    : variablesProblem(env)
}

function approvalProblem(given: Readonly<Record<string, unknown>>): string | undefined {
  const { approved, reason, by, arguments: args, remember, raise } = given
  if (typeof approved !== 'boolean') return `Expected "approved" to be true or false, got ${typeof approved}.`
  if (!approved && (args !== undefined || remember !== undefined || raise !== undefined))
    return 'Expected "arguments", "remember" and "raise" with "approved": true only.'
  if (raise !== undefined && typeof raise !== 'number')
    return `Expected "raise" to be a number, got ${typeof raise}.`
  return (
    textProblem('reason', reason) ??
    textProblem('by', by) ??
    argumentsProblem(args) ??
    (remember === undefined ? undefined : rememberProblem(remember))
  )
}

function textProblem(name: string, text: unknown): string | undefined {
  if (text === undefined) return undefined
  if (typeof text !== 'string') return `Expected "${name}" to be a text, got ${typeof text}.`
  if (utf8Length(text) <= LIMITS.answerTextBytes) return undefined
  return `Expected "${name}" to have at most ${LIMITS.answerTextBytes} bytes, got ${utf8Length(text)}.`
}

function argumentsProblem(args: unknown): string | undefined {
  if (args === undefined) return undefined
  if (!isObject(args)) return `Expected "arguments" to be an object, got ${kindOf(args)}.`
  try {
    const bytes = utf8Length(JSON.stringify(args))
    if (bytes <= LIMITS.answerBytes) return undefined
    return `Expected "arguments" of at most ${LIMITS.answerBytes} bytes, got ${bytes}.`
  } catch (error) {
    return `Expected "arguments" that JSON can carry, ${unwritableJson(error)}`
  }
}

function rememberProblem(remember: unknown): string | undefined {
  const { for: scope, what, expiresIn, ...others } = isObject(remember) ? remember : {}
  const isScope = scope === 'thread' || scope === 'tree' || scope === 'user'
  const isWhat = what === undefined || what === 'capabilities' || what === 'arguments'
  const isTime = expiresIn === undefined || isExpiry(expiresIn)
  if (isScope && isWhat && isTime && Object.keys(others).length === 0) return undefined
  return 'Expected "remember" to be { for: "thread", "tree" or "user", what: "capabilities" or "arguments", expiresIn: whole milliseconds }.'
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
