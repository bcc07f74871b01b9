import { isDeepStrictEqual } from 'node:util'
import type { HookedCall } from '../../definitions/hook.js'
import type { ToolResult } from '../../definitions/tool.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { toolHooks } from '../hooks/tool-hooks.js'
import type { ToolHooks } from '../hooks/tool-hooks.js'
import { attachFiles } from './attach-files.js'
import type { HeldCall } from './begin-call.js'
import { ERROR_PREFIX, failed, succeeded } from './call-result.js'
import type { CallResult } from './call-result.js'
import { answerProblem, filesOf, wordsOf } from './tool-answer.js'

/** The hooks of a call's result. */
export function hooksOfResult(hooks: HookBatch, { row }: HeldCall): ToolHooks {
  const call: HookedCall = { id: row.id, name: row.name, arguments: row.arguments }
  return toolHooks(hooks, { call, problemOf: answerProblem })
}

export interface HookedResult {
  readonly result: CallResult
  /** Call and result are to leave the transcript. */
  readonly erased: boolean
}

const POINTS = ['after_tool_call_success', 'after_tool_call_failure', 'before_store_tool_result'] as const

/** What hooks make of a result that no tool's own code has answered; one that a stop made meets none. */
export async function hookResult(
  hooks: HookBatch,
  call: HeldCall,
  result: CallResult,
): Promise<HookedResult> {
  const { outcome } = result
  if (outcome === 'interrupted' || outcome === 'cancelled' || !hooks.has(...POINTS))
    return { result, erased: false }
  const points = hooksOfResult(hooks, call)
  const seen = toToolResult(result)
  const after = await points.afterCall(seen)
  if (after === null) return { result, erased: true }
  const stored = await points.beforeStore(after)
  return { result: stored === seen ? result : await changed(hooks, result, { seen, stored }), erased: false }
}

function toToolResult({ outcome, content, errorCode, attachments }: CallResult): ToolResult {
  const files = attachments.length === 0 ? {} : { attachments }
  if (outcome === 'succeeded') return { status: 'success', result: content, ...files }
  const error = content.startsWith(ERROR_PREFIX) ? content.slice(ERROR_PREFIX.length) : content
  return { status: 'error', error, ...(errorCode === null ? {} : { error_code: errorCode }), ...files }
}

/** An outcome that says more than `failed` stays what it is, as long as the result is an error. */
async function changed(
  hooks: HookBatch,
  result: CallResult,
  { seen, stored }: { readonly seen: ToolResult; readonly stored: ToolResult },
): Promise<CallResult> {
  const kept = isDeepStrictEqual(filesOf(stored), filesOf(seen))
  const attachments = kept ? result.attachments : await attachFiles(await hooks.state(), filesOf(stored))
  if (typeof attachments === 'string') return failed(attachments, 'invalid_attachment')
  const words = wordsOf(stored)
  if (stored.status === 'success') return succeeded(words, { ...result, attachments, errorCode: null })
  const error = failed(words, stored.error_code ?? result.errorCode, { ...result, attachments })
  return result.outcome === 'succeeded' ? error : { ...error, outcome: result.outcome }
}
