import { createHash } from 'node:crypto'
import { ThreadConflictError } from '../protocol/errors.js'
import { ProblemError } from './error-response.js'

/**
 * The id of the thread that an account creates under a key. It is equal for the same account and key only, so a key neither
 * reveals threads of another account nor takes their ids.
 */
export function threadIdOfKey(account: string | null, key: string): string {
  return hashId('thread', account, key)
}

/**
 * The id of a message that is sent to a thread under a key. It is never the key itself: with that, a caller could name ids
 * of the thread's own rows.
 */
export function messageIdOfKey(threadId: string, key: string): string {
  return hashId('message', threadId, key)
}

/** In the form of a UUID, as generated ids have it. */
function hashId(...parts: readonly (string | null)[]): string {
  const digits = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-')
}

/** Runs `work`. A conflict names the key, which the caller knows, in place of the id that was derived from it. */
export async function nameKeyInConflicts<T>(key: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (key === undefined || !ThreadConflictError.isInstance(error)) throw error
    const words = error.message.replace(
      /\b(?:thread|message) id "[^"]*"/g,
      () => `key ${JSON.stringify(key)}`,
    )
    throw new ProblemError(409, 'thread_conflict', words.replace('use another id', 'use another key'))
  }
}
