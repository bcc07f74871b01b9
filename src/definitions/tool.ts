import type { z } from 'zod'

import type { JsonValue } from '../protocol/json.js'
import type { AttachmentRef, NewAttachment } from '../protocol/message.js'
import type { ThreadState } from './thread-state.js'

/** What a tool answers; the model reads `result`, or `error`. A result that is not a string is sent as JSON. */
export interface ToolResult {
  readonly status: 'success' | 'error'
  readonly result?: JsonValue
  readonly error?: string
  readonly error_code?: string
  /** New files, which are stored in the thread, or files that the thread has. */
  readonly attachments?: readonly (NewAttachment | AttachmentRef)[]
}

/** One call of a tool. The key is the same in every attempt: give it to services that deduplicate by one. */
export interface ToolCall {
  readonly id: string
  /** From 1. */
  readonly attempt: number
  readonly idempotencyKey: string
}

/** What `execute` gets for a schema: parsed, with defaults applied. */
export type ToolArguments<Schema> = Schema extends z.ZodObject ? z.output<Schema> : Record<string, never>

/** A function that models may call. It has no name of its own: its key in the registry names it. */
export interface ToolDefinition<Schema extends z.ZodObject | undefined = z.ZodObject | undefined> {
  readonly description: string
  readonly args?: Schema
  /** A throw is an error result for the model, not a retry. */
  execute(state: ThreadState, args: ToolArguments<Schema>, call: ToolCall): ToolResult | Promise<ToolResult>
  /**
   * Milliseconds until the call is aborted and the model told so; at most a day.
   * @default 300,000
   */
  readonly timeout?: number
  /**
   * Whether a call that a crash cut off may run again; if not, the model is told that its outcome is unknown.
   * @default false
   */
  readonly idempotent?: boolean
}

/** Declares a tool; `registry()` checks it. */
export function defineTool<Schema extends z.ZodObject | undefined = undefined>(
  definition: ToolDefinition<Schema>,
): ToolDefinition<Schema> {
  return definition
}
