import { MessageRejectedError, StoreError, ThreadError } from 'everthread'

import { HttpError } from './http-error.js'

/** A server or all workers are away: the same call again is safe. */
const PASSING: ReadonlySet<string> = new Set(['temporal_unavailable', 'no_worker'])

/** Whether the call is to be made again, under the same id. */
export function isPassing(error: unknown): boolean {
  if (error instanceof HttpError) return error.passing
  if (StoreError.isInstance(error)) return error.code === 'busy' || error.code === 'unavailable'
  return ThreadError.isInstance(error) && PASSING.has(error.code)
}

/** The thread lets no more messages wait: nothing of this one was kept, and it may be sent again. */
export function isQueueFull(error: unknown): boolean {
  return MessageRejectedError.isInstance(error) && /at most \d+ queued messages/.test(error.problem)
}

export function problemOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}
