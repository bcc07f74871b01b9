import { isObject } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import type { SourcePending } from '../../definitions/tool-source.js'
import type { PendingToolResult, ToolResult } from '../../definitions/tool-result.js'

/**
 * The reason why an answer is no tool result; null if it is one. Tools may be written in JavaScript, so their answers are
 * validated like any input.
 */
export function answerProblem(result: unknown): string | null {
  try {
    return problemOf(result)
  } catch {
    return 'The tool answered with something that cannot be read.'
  }
}

function problemOf(result: unknown): string | null {
  const fields = typeof result === 'object' && result !== null ? (result as Partial<ToolResult>) : {}
  if (fields.status !== 'success' && fields.status !== 'error')
    return 'The answer is something that is not a result. Expected { status: "success" | "error", … }.'
  for (const name of ['error', 'error_code'] as const)
    if (fields[name] !== undefined && typeof fields[name] !== 'string')
      return `The tool answered with "${name}" that is not a text.`
  if (fields.attachments !== undefined && !Array.isArray(fields.attachments))
    return 'The tool answered with "attachments" that are not a list.'
  if (fields.content !== undefined && !(Array.isArray(fields.content) && fields.content.every(isPart)))
    return 'The tool answered with "content" that is not a list of { type: "text", text } and { type: "file", file }.'
  try {
    JSON.stringify(fields.result)
    return null
  } catch {
    return 'The tool answered with a "result" that is not JSON.'
  }
}

function isPart(part: unknown): boolean {
  if (typeof part !== 'object' || part === null || !('type' in part)) return false
  if (part.type === 'text') return 'text' in part && typeof part.text === 'string'
  return part.type === 'file' && 'file' in part && typeof part.file === 'object' && part.file !== null
}

/** Fields of which one makes an object with `status` a result; without them the whole object is what the model reads. */
const CONTENT = ['result', 'error', 'content', 'attachments'] as const

/**
 * What the code of a tool has answered as a result, if it is a plain value; a result, a wait, and what cannot be read stay as they
 * are.
 */
export function toResult(answer: unknown): unknown {
  try {
    if (isPending(answer)) return answer
    const fields = isObject(answer) ? answer : {}
    const { status } = fields
    if (status !== 'success' && status !== 'error') return plainResult(answer)
    const { status: _, ...others } = fields
    if (Object.keys(others).length === 0 || CONTENT.some((field) => field in fields)) return answer
    return status === 'success' ? plainResult(answer) : { status, error: JSON.stringify(answer) }
  } catch {
    return answer
  }
}

function plainResult(value: unknown): unknown {
  if (value === undefined) return { status: 'success' }
  if (typeof value === 'string') return { status: 'success', result: value }
  const json: unknown = JSON.stringify(value)
  return typeof json === 'string' ? { status: 'success', result: JSON.parse(json) as unknown } : value
}

/** A field that no value of a tool has by chance: what a source answers has to pass what is made for answers of tools. */
const CONTINUES = 'everthread.continues'

/** Marks what a source has answered, if its call goes on later. */
export function markContinued(answer: unknown, source: string): unknown {
  const continues = isObject(answer) && answer['status'] === 'pending' && isObject(answer['resume'])
  return continues ? { status: 'pending', [CONTINUES]: { ...answer, source } } : answer
}

/** A call that goes on later: what a source has answered, or a wait for a workflow. */
export interface CallPending extends SourcePending {
  /** The name of the source. */
  readonly source?: string
  /** It goes on when its workflow has ended, or has not after so many milliseconds. */
  readonly waitsFor?: { readonly lookAfter: number }
}

/** The answer of a call that waits for its workflow. */
export function waitForWorkflow(resume: JsonObject, lookAfter: number): object {
  const pending: CallPending = { status: 'pending', resume, waitsFor: { lookAfter } }
  return { status: 'pending', [CONTINUES]: pending }
}

/** What was answered for a call that goes on later; null: any other answer. */
export function continuationIn(answer: unknown): CallPending | null {
  // Marked by one of the functions above.
  return isObject(answer) && CONTINUES in answer ? (answer[CONTINUES] as CallPending) : null
}

/** True for a call that will be answered later, from outside. */
export function isPending(result: unknown): result is PendingToolResult {
  try {
    if (!isObject(result) || result['status'] !== 'pending') return false
    if (CONTINUES in result) return true
    // A value with more fields is somebody's own, such as an order.
    return Object.keys(result).every((field) => field === 'status' || field === 'form')
  } catch {
    return false
  }
}

/** The text that the model reads. */
export function resultText(result: ToolResult): string {
  if (result.status === 'success') return textOf(result) || 'The tool call succeeded.'
  return result.error ?? (textOf(result) || 'The tool failed without a reason.')
}

/** Text parts take precedence over `result`. */
function textOf({ result, content = [] }: ToolResult): string {
  const parts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  if (parts.length > 0) return parts.join('\n')
  if (result === undefined) return ''
  return typeof result === 'string' ? result : JSON.stringify(result)
}

/** The files of a result: first those of its parts, in their order, then its attachments. */
export function filesOf({
  content = [],
  attachments = [],
}: ToolResult): NonNullable<ToolResult['attachments']> {
  return [...content.flatMap((part) => (part.type === 'file' ? [part.file] : [])), ...attachments]
}

type Fields = Readonly<Record<string, unknown>>

/** The text in a property of arguments or a result; null if there is none. */
export function readMappedText(from: Fields, property: string | null | undefined): string | null {
  const value = valueOf(from, property)
  if (value === undefined || value === null || value === '') return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The paths in a property, which holds one path or a list; the reason for the model for anything else. */
export function readMappedPaths(
  from: Fields,
  property: string | null | undefined,
): readonly string[] | string {
  const value = valueOf(from, property)
  if (value === undefined || value === null || value === '') return []
  const paths: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (paths.every((path) => typeof path === 'string')) return paths
  return 'Expected attachments as paths of files in this thread.'
}

function valueOf(from: Fields, property: string | null | undefined): unknown {
  return property == null || !Object.hasOwn(from, property) ? undefined : from[property]
}

/** Arguments of the lifecycle tools of subagents, as a model wrote them. */
type GivenFields = Readonly<Record<string, unknown>>

/** The text of a field; null if the field is blank or no text. */
export function textField(fields: GivenFields, name: string): string | null {
  const text = fields[name]
  return typeof text === 'string' && text.trim() !== '' ? text : null
}

/** The list `attachments`, empty if absent; null if it contains anything but paths. */
export function pathsField({ attachments = [] }: GivenFields): readonly string[] | null {
  if (!Array.isArray(attachments)) return null
  return attachments.every((path) => typeof path === 'string') ? [...new Set(attachments)] : null
}
