import type { z } from 'zod'

import type { RemoteActivity, ToolDefinition } from './tool.js'

/** A tool whose code is an activity of a worker in another language, as `examples/python-tool` has one. */
export interface RemoteToolDefinition<Schema extends z.ZodObject | undefined = z.ZodObject | undefined>
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
