import { createHash } from 'node:crypto'

/** From 0 to below `limit`, the same for the same text: pauses and sizes that need no state. */
export function hashedNumber(text: string, limit: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE() % limit
}
