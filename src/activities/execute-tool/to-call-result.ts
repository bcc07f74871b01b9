import type { PlanContent, SessionToolContent } from '../../definitions/plan-content.js'
import type { PendingToolResult, ToolResult } from '../../definitions/tool.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { Store, Writer } from '../../store/store.js'
import type { SessionCall } from '../../store/tool-calls.js'
import type { BufferedState, StateEffects } from '../thread-state/buffered-thread-state.js'
import { atNewPath } from '../thread-state/moved-attachment.js'
import type { HeldCall } from './begin-call.js'
import { failed, succeeded } from './call-result.js'
import type { CallResult } from './call-result.js'
import { shownText } from './long-text.js'

interface ToolAnswered {
  readonly call: HeldCall
  readonly state: BufferedState
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  readonly result: ToolResult | PendingToolResult
}

/** The result, made in the transaction that stores it, for only there its files have their final paths. */
export type PendingResult = (tx: Writer, effects: StateEffects) => Promise<CallResult>

/** Turns what a tool answered into what the model reads; what cannot be taken becomes an error result. */
export async function toCallResult(store: Store, answered: ToolAnswered): Promise<PendingResult> {
  const { result, call, state } = answered
  const problem = resultProblem(result)
  if (problem !== null || result.status === 'pending')
    return async () => failed(problem ?? 'The tool did not answer.', 'invalid_result')
  const files = await attached(state, result.attachments ?? [])
  if (typeof files === 'string') return async () => failed(files, 'invalid_attachment')
  const session = result.status === 'success' ? await sessionOf({ ...answered, result }) : null
  if (typeof session === 'string') return async () => failed(session, 'invalid_attachment')
  const badContext = state.contextProblem()
  if (badContext !== undefined) return async () => failed(badContext, 'invalid_context')
  const shown = await shownText(store, call, session?.message ?? wordsOf(result))
  return async (tx, { moved }) => {
    await shown.put(tx)
    const attachments = files.map((file) => atNewPath(file, moved))
    if (result.status === 'error') return failed(shown.text, result.error_code ?? null, { attachments })
    const own = session?.attachments.map((file) => atNewPath(file, moved)) ?? []
    const ended = session === null ? null : { ...session, attachments: [...own, ...attachments] }
    return succeeded(shown.text, { attachments, session: ended })
  }
}

/** Tools are written in JavaScript too: what they answer is checked like anything from outside. */
function resultProblem(result: unknown): string | null {
  const fields = typeof result === 'object' && result !== null ? (result as Partial<ToolResult>) : {}
  if (fields.status !== 'success' && fields.status !== 'error')
    return 'The tool answered with something that is not a result. Expected { status: "success" | "error", … }.'
  for (const name of ['error', 'error_code'] as const)
    if (fields[name] !== undefined && typeof fields[name] !== 'string')
      return `The tool answered with "${name}" that is not a text.`
  if (fields.attachments !== undefined && !Array.isArray(fields.attachments))
    return 'The tool answered with "attachments" that are not a list.'
  try {
    JSON.stringify(fields.result)
    return null
  } catch {
    return 'The tool answered with a "result" that is not JSON.'
  }
}

/** A sentence for the model where a file is not there or not fit. */
async function attached(
  state: BufferedState,
  files: Parameters<BufferedState['attach']>[0],
): Promise<readonly AttachmentRef[] | string> {
  if (files.length === 0) return []
  return state
    .attach(files)
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
}

function wordsOf(result: ToolResult): string {
  if (result.status === 'success') return textOf(result) || 'The tool call succeeded.'
  return result.error ?? (textOf(result) || 'The tool failed without a reason.')
}

function textOf({ result }: ToolResult): string {
  if (result === undefined) return ''
  return typeof result === 'string' ? result : JSON.stringify(result)
}

/**
 * A tool that ends its session carries the session's payload: mapped from its arguments, else from its result. It never
 * ends on files that it cannot deliver: then the sentence for the model comes instead.
 */
async function sessionOf({
  call,
  state,
  args,
  content,
  result,
}: ToolAnswered & { readonly result: ToolResult }): Promise<SessionCall | string | null> {
  const binding = sessionBinding(content, call.input)
  if (binding === null) return null
  const paths = mappedPaths(binding.tool, args)
  if (typeof paths === 'string') return paths
  const attachments = await attached(state, paths)
  if (typeof attachments === 'string') return attachments
  const message = mappedText(binding.tool, args) ?? wordsOf(result)
  return { kind: binding.kind, message: message.slice(0, LIMITS.answerBytes), attachments }
}

function sessionBinding(
  content: PlanContent,
  { side, name }: HeldCall['input'],
): { readonly kind: 'stop' | 'fail'; readonly tool: SessionToolContent } | null {
  const lifecycle = content.lifecycle[side]
  if (lifecycle?.sessionFail?.name === name) return { kind: 'fail', tool: lifecycle.sessionFail }
  return lifecycle?.sessionStop?.name === name ? { kind: 'stop', tool: lifecycle.sessionStop } : null
}

function mappedText({ messageProperty }: SessionToolContent, args: Record<string, unknown>): string | null {
  const value = messageProperty === undefined ? undefined : args[messageProperty]
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function mappedPaths(
  { attachmentsProperty }: SessionToolContent,
  args: Record<string, unknown>,
): readonly string[] | string {
  return pathsOf(attachmentsProperty === undefined ? undefined : args[attachmentsProperty])
}

/** One path or a list, as an argument may hold them; a sentence for the model for anything else. */
export function pathsOf(value: unknown): readonly string[] | string {
  if (value === undefined || value === null || value === '') return []
  const paths: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (paths.every((path) => typeof path === 'string')) return paths
  return 'Expected attachments as paths of files in this thread.'
}
