import type { AttachmentRef, NewAttachment } from '../protocol/message.js'
import type { JsonValue } from '../protocol/values.js'

/** A part of a result: text parts are joined and win over `result`, files are shown to models that take them. */
export type ToolResultPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly file: NewAttachment | AttachmentRef }

/** What a tool answers; the model reads `result`, or `error`. A result that is not a string is sent as JSON. */
export interface ToolResult {
  readonly status: 'success' | 'error'
  readonly result?: JsonValue
  readonly content?: readonly ToolResultPart[]
  readonly error?: string
  readonly error_code?: string
  /** New files, which are stored in the thread, or files that the thread has. */
  readonly attachments?: readonly (NewAttachment | AttachmentRef)[]
}

/** The call is answered later, by `thread.respond(call.id, { result })`; it waits for that at no cost. */
export interface PendingToolResult {
  readonly status: 'pending'
}
