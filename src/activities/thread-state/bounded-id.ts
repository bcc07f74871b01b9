import { createHash } from 'node:crypto'

import { LIMITS } from '../../protocol/limits.js'

/** Leaves room for what is made from the id. */
const ROOM = 16

/**
 * The id itself, or its digest where it is too long for the workflow's queue: threads may have long ids, and a tool that
 * queues itself would have a longer one each time. The same in each attempt.
 */
export function boundedId(id: string): string {
  // As it is carried: quotes and control characters take more than one byte.
  if (Buffer.byteLength(JSON.stringify(id)) <= LIMITS.messageIdLength - ROOM) return id
  return createHash('sha256').update(id).digest('hex').slice(0, 40)
}
