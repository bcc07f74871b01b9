import type { Micros } from './time.js'

/** A file of a thread as messages and tool results name it; `path` is valid in that thread only. */
export interface AttachmentRef {
  readonly id: string
  readonly type: 'file'
  readonly path: string
  readonly name: string
  readonly mimeType: string
  /** Bytes. */
  readonly size: number
  readonly width?: number
  readonly height?: number
  readonly description?: string
}

/** A file that does not exist yet: `data` is base64 or bytes, at most 100 MB. */
export interface NewAttachment {
  readonly name: string
  readonly mimeType: string
  readonly data: string | Uint8Array
  readonly width?: number
  readonly height?: number
}

/** A file or folder of a thread. Times are microseconds since 1970. */
export interface FileRecord {
  readonly path: string
  readonly name: string
  readonly mimeType: string
  readonly storage: 'local'
  readonly size: number
  readonly isDirectory: boolean
  readonly metadata: Record<string, unknown> | null
  readonly width: number | null
  readonly height: number | null
  readonly createdAt: Micros
  readonly updatedAt: Micros
}

/** The author of a row of the transcript; `tool` rows are results. */
export type MessageRole = 'system' | 'user' | 'assistant' | 'tool'

/**
 * `pending`: accepted, not yet in the transcript. Three never enter it: `rejected` (the thread was terminated),
 * `refused` (a create hook threw) and `removed` (a caller removed it from the queue). `interrupted`: a model's answer
 * that a stop ended early.
 */
export type MessageStatus =
  | 'pending'
  | 'completed'
  | 'failed'
  | 'interrupted'
  | 'rejected'
  | 'refused'
  | 'removed'

/**
 * One row of a thread's transcript, in the shape of Standard Agents: snake_case, `tool_calls` a JSON string.
 * `user` and `assistant` name the author: side A writes `assistant`, side B (or the person) writes `user`.
 */
export interface Message {
  readonly id: string
  readonly role: MessageRole
  readonly content: string | null
  /** The tool's name on tool rows. */
  readonly name: string | null
  /** JSON of `{ id, type: 'function', function: { name, arguments } }[]`. */
  readonly tool_calls: string | null
  readonly tool_call_id: string | null
  /** Microseconds since 1970; for display, the transcript is ordered by `position`. */
  readonly created_at: Micros
  readonly parent_id: string | null
  readonly depth: number
  /** True for a message that is in the model's context and hidden from the user's transcript. */
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
  readonly status: MessageStatus
  readonly tool_status: 'success' | 'error' | null
  readonly attachments: readonly AttachmentRef[]
  readonly reasoning_content: string | null
  /**
   * Why the model ended its answer: `stop`, `tool-calls`, `other`, or `length` for a truncated answer; null if no model
   * wrote it to its end.
   */
  readonly finish_reason: string | null
  /** What the provider has run itself, with the sources of the answer; absent: nothing. A shortened message of an event has none. */
  readonly provider_parts?: readonly ProviderPart[]
  /** The prompt that was active when it was made. */
  readonly prompt: string | null
  /** The child thread that this row came from. */
  readonly subagent_id: string | null
  /** Place in the transcript, from 1; null while queued. */
  readonly position: number | null
}

/** What the provider of a model has run itself for an answer, or a source of it, in the order of the answer; input and output are JSON. */
export type ProviderPart =
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly input?: unknown }
  | {
      readonly type: 'result'
      /** Of the call. */
      readonly id: string
      readonly name: string
      readonly output?: unknown
      readonly isError: boolean
    }
  | { readonly type: 'source'; readonly id: string; readonly url: string; readonly title: string | null }
  | {
      readonly type: 'document'
      readonly id: string
      readonly mediaType: string
      readonly title: string
      readonly filename: string | null
    }

/** One entry of `Message.tool_calls`. */
export interface ToolCallEntry {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

/** The finish reason of an answer that a limit of output tokens truncated: the model's own, or `maxOutputTokens`. */
export const CUT_OFF = 'length'

/** The result that the model reads for a call that a stop interrupted, or that was cancelled with its thread. */
export const CUT_CALL = {
  interrupted:
    'This call was interrupted: the run was ended before it answered. It may have taken effect in part.',
  cancelled: 'This call was cancelled: the thread was terminated.',
} as const
