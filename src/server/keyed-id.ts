/** The keys of requests that change something: `Idempotency-Key`, or `key` in a body that makes a thread or a message. */
import { createHash } from 'node:crypto'
import { z } from '@hono/zod-openapi'
import type { ThreadHandle } from '../client/thread-handle.js'
import { ThreadConflictError } from '../protocol/errors.js'
import { ProblemError } from './error-response.js'
import { key } from './schemas.js'
import type { ServerContext, ThreadContext } from './server-context.js'

export const KEY_HEADER = 'idempotency-key'

/** The headers of a route that changes something. */
export const keyHeader = z.object({ [KEY_HEADER]: key.optional() })

/** The key of a request: of its header, or the one in its body. @throws ProblemError 400 for two that differ */
export function keyOf({ req }: ThreadContext, body?: string): string | undefined {
  const header = req.header(KEY_HEADER)
  if (header !== undefined && body !== undefined && header !== body)
    throw new ProblemError(
      400,
      'bad_request',
      'Expected one key, got an Idempotency-Key and another "key" in the body: send one of them.',
    )
  return header ?? body
}

/** The thread of a request; its command is carried out once if the request has a key. */
export function threadOfCommand(
  { client }: Pick<ServerContext, 'client'>,
  context: ThreadContext,
  bodyKey?: string,
): ThreadHandle {
  const thread = client.get(context.req.param('threadId') ?? '')
  const key = keyOf(context, bodyKey)
  return key === undefined ? thread : thread.once(key)
}

/**
 * The id of the thread that an account creates under a key. It is equal for the same account and key only, so a key neither
 * reveals threads of another account nor takes their ids.
 */
export function threadIdOfKey(account: string | null, key: string): string {
  return hashId(account, key)
}

/** In the form of a UUID, as generated ids have it. */
function hashId(account: string | null, key: string): string {
  const digits = createHash('sha256')
    .update(JSON.stringify(['thread', account, key]))
    .digest('hex')
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
    const words = error.message.replace(/\bthread id "[^"]*"/g, () => `key ${JSON.stringify(key)}`)
    throw new ProblemError(409, 'thread_conflict', words.replace('use another id', 'use another key'))
  }
}
