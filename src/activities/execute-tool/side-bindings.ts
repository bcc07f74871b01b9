import type { LifecycleContent } from '../../definitions/plan-content.js'
import type { ToolResult } from '../../definitions/tool.js'
import type { JsonObject, JsonValue } from '../../protocol/json.js'
import { LIMITS } from '../../protocol/limits.js'
import type { FollowingMessage } from './call-result.js'
import { mappedText } from './mapped-arguments.js'
import type { ToolAnswered } from './to-call-result.js'
import { wordsOf } from './tool-answer.js'

interface Succeeded extends Omit<ToolAnswered, 'result'> {
  readonly result: ToolResult
}

/**
 * The words with which a stop tool ends its side's turn: from its result if that has the property, else from its
 * arguments. Stored roles say who wrote them: side A `assistant`, side B `user`.
 */
export function stopToolWords(answered: Succeeded): FollowingMessage | null {
  const { call, args, result } = answered
  const lifecycle = bindingsOf(answered)
  const property = lifecycle?.stopToolResponseProperty ?? null
  if (property === null || lifecycle?.stopTool !== call.row.name) return null
  const text = mappedText(fieldsOf(result.result), property) ?? mappedText(args, property)
  if (text === null) return null
  const { side } = call.input
  const content = text.slice(0, LIMITS.messageBytes)
  const role = side === 'a' ? 'assistant' : 'user'
  return { role, content, attachments: [], side, prompt: call.holder.prompt }
}

/** What a status tool tells the parent. */
export function statusTextOf(answered: Succeeded): string | null {
  const { call, args, result } = answered
  const binding = bindingsOf(answered)?.sessionStatus ?? null
  if (binding === null || binding.name !== call.row.name) return null
  return mappedText(args, binding.messageProperty) ?? wordsOf(result)
}

/** A call inside a prompt tool is no word of its side. */
function bindingsOf({ call, content }: Succeeded): LifecycleContent | null {
  return call.row.parent_call_id === null ? content.lifecycle[call.input.side] : null
}

function fieldsOf(value: ToolResult['result'] = null): JsonObject {
  return isJsonObject(value) ? value : {}
}

function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
