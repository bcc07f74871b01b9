import { createHash } from 'node:crypto'

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
