import type { AttachmentRef, NewAttachment } from '../protocol/message.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'

/** A part of a result. Text parts are joined and replace `result`; models that accept files get them. */
export type ToolResultPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly file: NewAttachment | AttachmentRef }

/** The result of a tool. The model reads `result` or `error`; a result that is not a string is sent as JSON. */
export interface ToolResult {
  readonly status: 'success' | 'error'
  readonly result?: JsonValue
  readonly content?: readonly ToolResultPart[]
  readonly error?: string
  readonly error_code?: string
  /** New files, which are stored in the thread, or files of the thread. */
  readonly attachments?: readonly (NewAttachment | AttachmentRef)[]
}

/** The call is answered later, by `thread.respond(call.id, { result })`, and takes no resources while it waits. */
export interface PendingToolResult {
  readonly status: 'pending'
  /**
   * The JSON Schema of the `result` of the answer, for a form (`z.toJSONSchema` makes one): an answer that does not fit is refused,
   * and the call waits on.
   */
  readonly form?: JsonObject
}

/**
 * What a tool may answer: a result, or any value that is JSON. An object is a result if its `status` is `success` or `error`, and a
 * wait if it has nothing but `status: 'pending'` and `form`.
 */
export type ToolAnswer =
  | ToolResult
  | PendingToolResult
  | string
  | number
  | boolean
  | object
  | null
  | undefined
  | void
