import type { PendingToolResult, ToolResult } from '../../definitions/tool.js'

/** Tools are written in JavaScript too: what they answer is checked like anything from outside. */
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
    return 'The tool answered with something that is not a result. Expected { status: "success" | "error", … }.'
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

/** The call is answered later, from outside. */
export function isPending(result: unknown): result is PendingToolResult {
  try {
    return typeof result === 'object' && result !== null && 'status' in result && result.status === 'pending'
  } catch {
    return false
  }
}

/** What the model reads. */
export function wordsOf(result: ToolResult): string {
  if (result.status === 'success') return textOf(result) || 'The tool call succeeded.'
  return result.error ?? (textOf(result) || 'The tool failed without a reason.')
}

/** Text parts win over `result`. */
function textOf({ result, content = [] }: ToolResult): string {
  const parts = content.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  if (parts.length > 0) return parts.join('\n')
  if (result === undefined) return ''
  return typeof result === 'string' ? result : JSON.stringify(result)
}

/** Files of the parts first, in their order. */
export function filesOf({
  content = [],
  attachments = [],
}: ToolResult): NonNullable<ToolResult['attachments']> {
  return [...content.flatMap((part) => (part.type === 'file' ? [part.file] : [])), ...attachments]
}
