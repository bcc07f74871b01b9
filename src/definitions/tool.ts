import type { z } from 'zod'
import type { VariableDefinition } from './agent.js'
import type { ThreadState } from './thread-state.js'
import type { PendingToolResult, ToolResult } from './tool-result.js'

/** Throws of a tool are tried again inside the call, with nothing kept of what a failed try did to its thread. */
export interface ToolRetry {
  /** The first one included. */
  readonly maximumAttempts: number
  /** Milliseconds before the second attempt; doubled before each later one. @default 1,000 */
  readonly initialInterval?: number
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
  execute(
    state: ThreadState,
    args: ToolArguments<Schema>,
    call: ToolCall,
  ): ToolResult | PendingToolResult | Promise<ToolResult | PendingToolResult>
  readonly variables?: readonly VariableDefinition[]
  /** Whether a person has to allow the call; one that throws asks. */
  readonly needsApproval?:
    | boolean
    | ((state: ThreadState, args: ToolArguments<Schema>) => boolean | Promise<boolean>)
  readonly retry?: ToolRetry
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
  /**
   * Where its code runs: a worker with this `taskQueue` has to run. A tool that another one invokes in place runs there.
   * @default the thread's own
   */
  readonly taskQueue?: string
  /** Its code is an activity of a worker in another language. @see defineRemoteTool */
  readonly remote?: RemoteActivity
}

/** An activity of another worker, by its type, and the task queue that this worker polls. */
export interface RemoteActivity {
  readonly taskQueue: string
  readonly activity: string
}

/** Declares a tool; `registry()` checks it. */
export function defineTool<Schema extends z.ZodObject | undefined = undefined>(
  definition: ToolDefinition<Schema>,
): ToolDefinition<Schema> {
  return definition
}

/** A tool whose code is an activity of a worker in another language, as `examples/python-tool` has one. */
interface RemoteToolDefinition<Schema extends z.ZodObject | undefined = z.ZodObject | undefined>
  extends
    RemoteActivity,
    Pick<
      ToolDefinition<Schema>,
      'description' | 'args' | 'variables' | 'needsApproval' | 'timeout' | 'idempotent'
    > {}

/**
 * Declares a tool in another language. Checks, approval and hooks are those of any tool; then the activity `activity` is
 * scheduled on `taskQueue` with ids only, and its worker gets arguments and gives the result over HTTP. Its `timeout`
 * begins when a worker takes the call. It cannot be invoked inside another tool's call: use `queueTool`.
 */
export function defineRemoteTool<Schema extends z.ZodObject | undefined = undefined>({
  taskQueue,
  activity,
  ...definition
}: RemoteToolDefinition<Schema>): ToolDefinition<Schema> {
  return {
    ...definition,
    remote: { taskQueue, activity },
    execute: () => ({
      status: 'error',
      error: `This tool runs in another process, on task queue "${taskQueue}", and cannot run inside a call: use queueTool.`,
      error_code: 'not_in_place',
    }),
  }
}
