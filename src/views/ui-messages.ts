/**
 * Messages and chunks of the AI SDK's UI message stream, as far as this runtime writes them, and what a chunk does to a message.
 *
 * Owns: the shapes, which are those of `UIMessage` and `UIMessageChunk` of `ai` 7, and the fold of chunks into messages, which is that of
 * its `useChat`. Does not own: which chunks an event makes (`ui-message-stream.ts`). It loads nothing: types are structural.
 */
import type { Connect } from '../protocol/payloads/governance.js'
import type { ToolProgress } from '../protocol/payloads/live-text.js'
import type { JsonValue } from '../protocol/values.js'

export interface UIText {
  readonly type: 'text'
  readonly text: string
  readonly state?: 'streaming' | 'done'
}

interface UIReasoning {
  readonly type: 'reasoning'
  readonly id: string
  readonly text: string
  readonly state: 'streaming' | 'done'
}

export interface UIFile {
  readonly type: 'file'
  readonly mediaType: string
  readonly url: string
  readonly filename?: string
}

/** A source of an answer, as its provider names it. */
export type UISource =
  | { readonly type: 'source-url'; readonly sourceId: string; readonly url: string; readonly title?: string }
  | {
      readonly type: 'source-document'
      readonly sourceId: string
      readonly mediaType: string
      readonly title: string
      readonly filename?: string
    }

interface UIToolBase {
  readonly type: 'dynamic-tool'
  /** The provider of the model has run it. */
  readonly providerExecuted?: true
  readonly toolName: string
  readonly toolCallId: string
  readonly input: JsonValue
}

interface UIApproval {
  /** The id of the request. */
  readonly id: string
  readonly reason?: string
}

/** A call of a tool, subagent or prompt. Tools are always `dynamic`: the page need not know them. */
type UITool = UIToolBase &
  (
    | { readonly state: 'input-available' }
    | { readonly state: 'approval-requested'; readonly approval: UIApproval }
    | { readonly state: 'approval-responded'; readonly approval: UIApproval & { readonly approved: boolean } }
    | {
        readonly state: 'output-available'
        readonly output: JsonValue
        readonly approval?: UIApproval & { readonly approved: true }
      }
    | {
        readonly state: 'output-error'
        readonly errorText: string
        readonly approval?: UIApproval & { readonly approved: true }
      }
    | { readonly state: 'output-denied'; readonly approval: UIApproval & { readonly approved: false } }
  )

/** A message that joined the run while it was under way. */
interface UISteering {
  readonly type: 'steering-message'
  readonly id: string
  readonly parts: readonly (UIText | UIFile)[]
}

/** A subagent and its newest status. */
interface UISubagent {
  readonly type: 'data-subagent'
  /** The id of its thread. */
  readonly id: string
  readonly data: {
    readonly threadId: string
    readonly name: string
    readonly threadName?: string
    /** `running`, `completed`, `failed`, `terminated`, or the text that it has set. */
    readonly status: string
    readonly toolCallId: string
  }
}

export type UIPart =
  | { readonly type: 'step-start' }
  | UIText
  | UIReasoning
  | UIFile
  | UISource
  | UITool
  | UISteering
  | UISubagent

/** A message as `useChat` keeps it. One of the assistant is a run: its id is that of the run. */
export interface UIMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  /** What its sender gave with it. */
  readonly metadata?: Record<string, unknown>
  readonly parts: readonly UIPart[]
}

export type UIFinishReason = 'stop' | 'length' | 'tool-calls' | 'error' | 'interrupted' | 'other'

/** A chunk of the stream of one message. */
export type UIMessageChunk =
  | { readonly type: 'start'; readonly messageId: string }
  | { readonly type: 'start-step' | 'finish-step' | 'reset-step' }
  | { readonly type: 'text-start' | 'text-end' | 'reasoning-start' | 'reasoning-end'; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | {
      readonly type: 'tool-input-start'
      readonly toolCallId: string
      readonly toolName: string
      readonly dynamic: true
    }
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: JsonValue
      readonly dynamic: true
      readonly providerExecuted?: true
    }
  | { readonly type: 'tool-approval-request'; readonly approvalId: string; readonly toolCallId: string }
  | {
      readonly type: 'tool-approval-response'
      readonly approvalId: string
      readonly approved: boolean
      readonly reason?: string
    }
  | ({
      readonly type: 'tool-output-available'
      readonly output: JsonValue
      /** The call runs, and has shown this so far. */
      readonly preliminary?: true
    } & OfCall)
  | ({ readonly type: 'tool-output-error'; readonly errorText: string } & OfCall)
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }
  | UIFile
  | UISource
  | UISteering
  | UISubagent
  | UIRequest
  | UIProgress
  | UIFork
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | { readonly type: 'finish'; readonly finishReason: UIFinishReason }

interface OfCall {
  readonly toolCallId: string
  readonly providerExecuted?: true
}

/** A request that is no approval of a call, and then its end: for `onData`, it is no part of the message. */
interface UIRequest {
  readonly type: 'data-request'
  readonly id: string
  readonly data: {
    readonly kind: string
    /** `open`, or how it ended. */
    readonly status: string
    readonly toolName: string | null
    readonly toolCallId?: string
    /** The names of missing variables. */
    readonly missing?: readonly string[]
    /** The login that the call waits for. */
    readonly connect?: Connect
  }
  readonly transient: true
}

/** How far a running call is: for `onData`, it is no part of the message. The newest one replaces those before. */
interface UIProgress {
  readonly type: 'data-tool-progress'
  /** The id of the call. */
  readonly id: string
  readonly data: ToolProgress & { readonly toolCallId: string; readonly toolName: string }
  readonly transient: true
}

/** The answer is given in a fork, where the conversation goes on: for `onData`, it is no part of the message. */
interface UIFork {
  readonly type: 'data-thread'
  /** The id of the fork. */
  readonly id: string
  readonly data: { readonly threadId: string; readonly forkedFrom: string }
  readonly transient: true
}

/** What a chunk makes of the parts of its message: the parts that `useChat` has then. Chunks of what is not stored make none. */
export function applyChunk(parts: readonly UIPart[], chunk: UIMessageChunk): readonly UIPart[] {
  switch (chunk.type) {
    case 'start-step':
      return [...parts, { type: 'step-start' }]
    case 'reset-step':
      return parts.slice(0, parts.findLastIndex(({ type }) => type === 'step-start') + 1)
    case 'text-start':
      return [...parts, { type: 'text', text: '', state: 'streaming' }]
    case 'reasoning-start':
      return [...parts, { type: 'reasoning', id: chunk.id, text: '', state: 'streaming' }]
    case 'text-delta':
    case 'reasoning-delta':
      return changeStreaming(parts, chunk.type, { delta: chunk.delta, state: 'streaming' })
    case 'text-end':
    case 'reasoning-end':
      return changeStreaming(parts, chunk.type, { delta: '', state: 'done' })
    case 'tool-input-available':
    case 'tool-approval-request':
    case 'tool-approval-response':
    case 'tool-output-available':
    case 'tool-output-error':
    case 'tool-output-denied':
      return applyToTools(parts, chunk)
    case 'file':
    case 'source-url':
    case 'source-document':
    case 'steering-message':
      return [...parts, chunk]
    case 'data-subagent': {
      const at = parts.findIndex((part) => part.type === 'data-subagent' && part.id === chunk.id)
      return at === -1 ? [...parts, chunk] : parts.with(at, chunk)
    }
    default:
      return parts
  }
}

/** One text and one reasoning stream at a time. */
function changeStreaming(
  parts: readonly UIPart[],
  type: string,
  { delta, state }: { readonly delta: string; readonly state: 'streaming' | 'done' },
): readonly UIPart[] {
  const kind = type.startsWith('text') ? 'text' : 'reasoning'
  const at = parts.findLastIndex((part) => part.type === kind)
  const part = parts[at]
  if (part?.type !== 'text' && part?.type !== 'reasoning') return parts
  return parts.with(at, { ...part, text: part.text + delta, state })
}

type ToolChunk = Exclude<
  Extract<UIMessageChunk, { readonly type: `tool-${string}` }>,
  { readonly type: 'tool-input-start' | 'tool-input-delta' }
>

function applyToTools(parts: readonly UIPart[], chunk: ToolChunk): readonly UIPart[] {
  const at = parts.findLastIndex((part) => part.type === 'dynamic-tool' && isOf(part, chunk))
  const part = parts[at]
  if (part?.type !== 'dynamic-tool') {
    if (chunk.type !== 'tool-input-available') return parts
    const { toolCallId, toolName, input } = chunk
    const made = { type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input } as const
    return [...parts, chunk.providerExecuted === true ? { ...made, providerExecuted: true } : made]
  }
  // Each state of the type has other fields, of which the approval stays.
  return parts.with(at, { ...part, ...changeOf(part, chunk) } as UITool)
}

function isOf(part: UITool, chunk: ToolChunk): boolean {
  return 'toolCallId' in chunk
    ? part.toolCallId === chunk.toolCallId
    : 'approval' in part && part.approval?.id === chunk.approvalId
}

function changeOf(part: UITool, chunk: ToolChunk): object {
  switch (chunk.type) {
    case 'tool-input-available':
      return { state: 'input-available', input: chunk.input }
    case 'tool-approval-request':
      return { state: 'approval-requested', approval: { id: chunk.approvalId } }
    case 'tool-approval-response': {
      const { approvalId: id, approved, reason } = chunk
      return {
        state: 'approval-responded',
        approval: { id, approved, ...(reason !== undefined && { reason }) },
      }
    }
    case 'tool-output-available':
      return { state: 'output-available', output: chunk.output }
    case 'tool-output-error':
      return { state: 'output-error', errorText: chunk.errorText }
    case 'tool-output-denied':
      return { state: 'output-denied' }
  }
}
