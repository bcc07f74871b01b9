import { isDeepStrictEqual } from 'node:util'
import type { HookedCall } from '../../definitions/hook.js'
import type {
  LifecycleContent,
  PlanContent,
  SessionToolContent,
} from '../../definitions/plan/plan-content.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import { resultPathOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import type { SessionCall } from '../../store/calls/tool-calls.js'
import { putFile } from '../../store/files/files.js'
import type { Store, Writer } from '../../store/store.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { toolHooks } from '../hooks/hook-points.js'
import type { ToolHooks } from '../hooks/hook-points.js'
import type { BufferedState } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import { ERROR_PREFIX, failureResult, reasonOf, successResult } from './call-result.js'
import type { CallResult } from './call-result.js'
import type { HeldCall } from './held-call.js'
import { answerProblem, filesOf, readMappedPaths, readMappedText, resultText } from './tool-values.js'

interface ToolAnswered {
  readonly call: HeldCall
  readonly state: BufferedState
  /** The hooks share the state of the call. */
  readonly hooks: HookBatch
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  /** The answer before validation. */
  readonly result: unknown
  /** The failure that it was made in spite of. @default none */
  readonly failure?: CallResult['failure']
}

/**
 * Turns a tool's answer into the result that the model reads; an invalid answer becomes an error result.
 */
export async function toCallResult(
  store: Store,
  answered: ToolAnswered,
): Promise<CallResult | PreparedResult> {
  const { call, state, hooks, failure = null } = answered
  const problem = answerProblem(answered.result)
  if (problem !== null) return failureResult(problem, 'invalid_result')
  // `answerProblem` has validated it: this is the boundary to the tool.
  const given = answered.result as ToolResult
  const points = hooksOfResult(hooks, call)
  const after = await points.afterCall(given)
  const result = after === null ? given : await points.beforeStore(after)
  const refuse = (reason: string, code: string) => withoutFiles(failureResult(reason, code), after === null)
  const files = await attachFiles(state, filesOf(result))
  if (typeof files === 'string') return refuse(files, 'invalid_attachment')
  const succeededAs = result.status === 'success' ? { ...answered, result } : null
  const session = succeededAs === null ? null : await sessionOf(succeededAs)
  if (typeof session === 'string') return refuse(session, 'invalid_attachment')
  const badContext = state.lookAtContext()
  if (badContext !== undefined) return refuse(badContext, 'invalid_context')
  const { text, put } = await prepareText(store, call, session?.message ?? resultText(result))
  const ended = session === null ? null : { ...session, attachments: [...session.attachments, ...files] }
  const made =
    succeededAs === null
      ? failureResult(text, result.error_code ?? null, { attachments: files, failure })
      : successResult(text, {
          failure,
          attachments: files,
          session: ended,
          followedBy: stopToolWords(succeededAs),
          // The status text precedes the hooks of storage, which change only the stored result.
          statusText: statusTextOf({ ...succeededAs, result: after ?? given }),
        })
  return { result: made, erased: after === null, put }
}

function withoutFiles(result: CallResult, erased: boolean): PreparedResult {
  return { result, erased, put: async () => undefined }
}

interface SessionAnswer {
  readonly call: HeldCall
  readonly state: BufferedState
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  readonly result: ToolResult
}

/**
 * The payload of a tool that ends its session, mapped from its arguments, else from its result. A session does not end
 * with files that it cannot deliver: the function then returns the reason for the model.
 */
async function sessionOf(answered: SessionAnswer): Promise<SessionCall | string | null> {
  const { call, state, args, content, result } = answered
  const binding = sessionBinding(content, call)
  if (binding === null) return null
  const { attachmentsProperty, messageProperty } = binding.tool
  const paths = readMappedPaths(args, attachmentsProperty)
  if (typeof paths === 'string') return paths
  const attachments = await attachFiles(state, paths)
  if (typeof attachments === 'string') return attachments
  const message = readMappedText(args, messageProperty) ?? resultText(result)
  return { kind: binding.kind, message: message.slice(0, LIMITS.answerBytes), attachments }
}

/** The binding of a session tool; null for any other call. A call within a prompt tool ends no session. */
function sessionBinding(
  content: PlanContent,
  { input: { side }, row: { name, parent_call_id: parent } }: HeldCall,
): { readonly kind: 'stop' | 'fail'; readonly tool: SessionToolContent } | null {
  if (parent !== null) return null
  const lifecycle = content.lifecycle[side]
  if (lifecycle?.sessionFail?.name === name) return { kind: 'fail', tool: lifecycle.sessionFail }
  return lifecycle?.sessionStop?.name === name ? { kind: 'stop', tool: lifecycle.sessionStop } : null
}

interface Succeeded extends Omit<ToolAnswered, 'result'> {
  readonly result: ToolResult
}

/**
 * The text with which a stop tool ends the turn of its side: from its result if the result has the property, else from
 * its arguments. The stored role names the writer: `assistant` for side A, `user` for side B.
 */
function stopToolWords(answered: Succeeded): CallResult['followedBy'] {
  const { call, args, result } = answered
  const lifecycle = bindingsOf(answered)
  const property = lifecycle?.stopToolResponseProperty ?? null
  if (property === null || lifecycle?.stopTool !== call.row.name) return null
  const text = readMappedText(fieldsOf(result.result), property) ?? readMappedText(args, property)
  if (text === null) return null
  const { side } = call.input
  const content = text.slice(0, LIMITS.messageBytes)
  const role = side === 'a' ? 'assistant' : 'user'
  return { role, content, attachments: [], side, prompt: call.holder.prompt }
}

/** The status text that a status tool reports to the parent. */
function statusTextOf(answered: Succeeded): string | null {
  const { call, args, result } = answered
  const binding = bindingsOf(answered)?.sessionStatus ?? null
  if (binding === null || binding.name !== call.row.name) return null
  return readMappedText(args, binding.messageProperty) ?? resultText(result)
}

/** The tool bindings of the call's side; null within a prompt tool. */
function bindingsOf({ call, content }: Succeeded): LifecycleContent | null {
  return call.row.parent_call_id === null ? content.lifecycle[call.input.side] : null
}

function fieldsOf(value: ToolResult['result'] = null): JsonObject {
  return isJsonObject(value) ? value : {}
}

function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A result after its hooks, within the limit of its size. */
interface PreparedResult {
  readonly result: CallResult
  /** A hook erased the call and its result from the transcript. */
  readonly erased: boolean
  /** Stores the file that holds the whole text, if the result has one. */
  readonly put: (tx: Writer) => Promise<void>
}

/**
 * Runs the hooks of a result that is only text. A long text that a hook returns is stored whole as a file, as every long
 * text is.
 */
export async function prepareResult(
  store: Store,
  call: HeldCall,
  { made, hooks }: { readonly made: CallResult; readonly hooks: HookBatch },
): Promise<PreparedResult> {
  const { result, erased } = await hookResult(hooks, call, made)
  const { content, outcome } = result
  // The file with the whole text has no prefix.
  const prefix = outcome !== 'succeeded' && content.startsWith(ERROR_PREFIX) ? ERROR_PREFIX : ''
  const { text, put } = await prepareText(store, call, content.slice(prefix.length))
  return { result: { ...result, content: prefix + text }, erased, put }
}

/** The hooks of a call's result. */
function hooksOfResult(hooks: HookBatch, { row }: HeldCall): ToolHooks {
  const call: HookedCall = { id: row.id, name: row.name, arguments: row.arguments }
  return toolHooks(hooks, { call, problemOf: answerProblem })
}

interface HookedResult {
  readonly result: CallResult
  /** A hook erased the call and its result from the transcript. */
  readonly erased: boolean
}

const POINTS = ['after_tool_call_success', 'after_tool_call_failure', 'before_store_tool_result'] as const

/** Runs the hooks of a result that is not the answer of a tool's code. The result of a stop has no hooks. */
async function hookResult(hooks: HookBatch, call: HeldCall, result: CallResult): Promise<HookedResult> {
  const { outcome } = result
  if (outcome === 'interrupted' || outcome === 'cancelled' || !hooks.has(...POINTS))
    return { result, erased: false }
  const points = hooksOfResult(hooks, call)
  const seen = toToolResult(result)
  const after = await points.afterCall(seen)
  if (after === null) return { result, erased: true }
  const stored = await points.beforeStore(after)
  return {
    result: stored === seen ? result : await applyHooks(hooks, result, { seen, stored }),
    erased: false,
  }
}

function toToolResult({ outcome, content, errorCode, attachments }: CallResult): ToolResult {
  const files = attachments.length === 0 ? {} : { attachments }
  if (outcome === 'succeeded') return { status: 'success', result: content, ...files }
  const error = reasonOf(content)
  return { status: 'error', error, ...(errorCode === null ? {} : { error_code: errorCode }), ...files }
}

/** Applies the change of a hook. An outcome more precise than `failed` stays as long as the result is an error. */
async function applyHooks(
  hooks: HookBatch,
  result: CallResult,
  { seen, stored }: { readonly seen: ToolResult; readonly stored: ToolResult },
): Promise<CallResult> {
  const kept = isDeepStrictEqual(filesOf(stored), filesOf(seen))
  const attachments = kept ? result.attachments : await attachFiles(await hooks.state(), filesOf(stored))
  if (typeof attachments === 'string') return failureResult(attachments, 'invalid_attachment')
  const text = resultText(stored)
  if (stored.status === 'success') return successResult(text, { ...result, attachments, errorCode: null })
  const error = failureResult(text, stored.error_code ?? result.errorCode, { ...result, attachments })
  return result.outcome === 'succeeded' ? error : { ...error, outcome: result.outcome }
}

type Given = Parameters<BufferedState['attach']>[0]

/**
 * Attaches files; returns the reason for the model if a file is missing, invalid or empty. A value that throws on being
 * read is invalid.
 */
async function attachFiles(state: BufferedState, files: Given): Promise<readonly AttachmentRef[] | string> {
  if (files.length === 0) return []
  try {
    const blank = files.find(isBlank)
    if (blank !== undefined) return emptyFile(nameOf(blank))
    const attached = await state.attach(files)
    const empty = attached.find(({ size }) => size === 0)
    return empty === undefined ? attached : emptyFile(empty.path)
  } catch (error) {
    return readThrown(error).message
  }
}

function isBlank(file: Given[number]): boolean {
  if (typeof file !== 'object' || file === null || !('data' in file)) return false
  return typeof file.data === 'string' ? file.data === '' : file.data?.byteLength === 0
}

function nameOf(file: Given[number]): string {
  return typeof file === 'object' && 'name' in file ? String(file.name) : 'one'
}

function emptyFile(name: string): string {
  return `Expected the attachment ${name} to have content, got a file of 0 bytes.`
}

const HEAD = 6000

const TAIL = 2000

interface PreparedText {
  readonly text: string
  /** Stores the whole text under its path, in the transaction that stores the result. */
  readonly put: (tx: Writer) => Promise<void>
}

/** Where the whole text is stored. */
interface TextPlace extends Pick<Parameters<typeof putFile>[1], 'threadId' | 'path' | 'now' | 'scope'> {}

function prepareText(
  store: Store,
  { input: { threadId, callId }, now, scope }: HeldCall,
  text: string,
): Promise<PreparedText> {
  return boundText(store, { threadId, path: resultPathOf(callId), now, scope }, text)
}

/** Stores the bytes of a text above 64 KB; the model reads head, tail and the path of the file that holds all of it. */
export async function boundText(store: Store, place: TextPlace, text: string): Promise<PreparedText> {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= LIMITS.toolResultBytes) return { text, put: async () => undefined }
  const { digest: blob, size } = await store.blobs.write(bytes.subarray(0, LIMITS.fileBytes))
  const note = `[… ${size} bytes in all; the whole result is in ${place.path} …]`
  return {
    text: `${text.slice(0, HEAD)}\n\n${note}\n\n${text.slice(-TAIL)}`,
    put: async (tx) => {
      await putFile(tx, { ...place, mimeType: 'text/plain', size, blob })
    },
  }
}
