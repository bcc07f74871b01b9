import { createHash } from 'node:crypto'
import { ThreadConflictError } from '../protocol/errors.js'
import { ProblemError } from './error-response.js'

/**
 * The id of the thread that an account made under a key: the same for the same two, and for nobody else, so that no key
 * tells of another account's threads, or takes their ids from them.
 */
export function keyedThreadId(account: string | null, key: string): string {
  return idOf('thread', account, key)
}

/**
 * The id of a message that was sent to a thread under a key. Never the key itself: the thread has rows of its own, whose ids an
 * account could otherwise name.
 */
export function keyedMessageId(threadId: string, key: string): string {
  return idOf('message', threadId, key)
}

/** In the shape of a UUID, as ids that nobody chose have it. */
function idOf(...parts: readonly (string | null)[]): string {
  const digits = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-')
}

/** A conflict of what was made under a key names the key, which the caller knows, in place of the id made of it. */
export async function namingKey<T>(key: string | undefined, work: () => Promise<T>): Promise<T> {
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
