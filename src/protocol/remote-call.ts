/**
 * A tool in another language: its code is an activity of somebody else's worker, by its own type on its own task queue.
 * This file is what such a worker sees of Temporal; arguments and results go over HTTP (T5).
 */

/** The answer of `executeTool` for such a tool: all is checked and written down, and the call is to run there. */
export interface RemoteAnswer {
  readonly type: 'remote'
  readonly taskQueue: string
  readonly activity: string
  /** Milliseconds, from the moment when a worker takes it. */
  readonly timeout: number
}

/** The one argument of that activity. What it answers is not read: the result is in the store. */
export interface RemoteCallInput {
  readonly level: number
  readonly threadId: string
  readonly callId: string
  /** The same in every attempt. */
  readonly idempotencyKey: string
}
