import type { PlanContent, SessionToolContent } from '../../definitions/plan-content.js'
import type { ToolResult } from '../../definitions/tool.js'
import { LIMITS } from '../../protocol/limits.js'
import type { SessionCall } from '../../store/tool-calls.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import { attachFiles } from './attach-files.js'
import type { HeldCall } from './begin-call.js'
import { mappedPaths, mappedText } from './mapped-arguments.js'
import { wordsOf } from './tool-answer.js'

interface SessionAnswer {
  readonly call: HeldCall
  readonly state: BufferedState
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  readonly result: ToolResult
}

/**
 * A tool that ends its session carries the session's payload: mapped from its arguments, else from its result. It never
 * ends on files that it cannot deliver: then the sentence for the model comes instead.
 */
export async function sessionOf(answered: SessionAnswer): Promise<SessionCall | string | null> {
  const { call, state, args, content, result } = answered
  const binding = sessionBinding(content, call)
  if (binding === null) return null
  const { attachmentsProperty, messageProperty } = binding.tool
  const paths = mappedPaths(args, attachmentsProperty)
  if (typeof paths === 'string') return paths
  const attachments = await attachFiles(state, paths)
  if (typeof attachments === 'string') return attachments
  const message = mappedText(args, messageProperty) ?? wordsOf(result)
  return { kind: binding.kind, message: message.slice(0, LIMITS.answerBytes), attachments }
}

/** A call inside a prompt tool is no word of its side: it ends nothing. */
function sessionBinding(
  content: PlanContent,
  { input: { side }, row: { name, parent_call_id: parent } }: HeldCall,
): { readonly kind: 'stop' | 'fail'; readonly tool: SessionToolContent } | null {
  if (parent !== null) return null
  const lifecycle = content.lifecycle[side]
  if (lifecycle?.sessionFail?.name === name) return { kind: 'fail', tool: lifecycle.sessionFail }
  return lifecycle?.sessionStop?.name === name ? { kind: 'stop', tool: lifecycle.sessionStop } : null
}
