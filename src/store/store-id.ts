/**
 * The id of a store: made once, with its schema, and kept in `schema_info`. It ties threads to their store: a start names
 * it, every activity input carries it, and a worker refuses what belongs to another store. A copy of a database keeps the
 * id until it is given another one.
 */
import { randomBytes } from 'node:crypto'

/** Of digits and letters; `l`, `o`, `u` and `v` are left out, since people read ids aloud and copy them by hand. */
const ALPHABET = '0123456789abcdefghijkmnpqrstwxyz'
/** Sixty bits: stores that share a Temporal server do not get the same one by accident. */
const LENGTH = 12

export function makeStoreId(): string {
  // 256 is a multiple of 32, so every letter is equally likely.
  return [...randomBytes(LENGTH)].map((byte) => ALPHABET[byte % ALPHABET.length]).join('')
}

/**
 * The task queue of workers and clients: the given one, else EVERTHREAD_TASK_QUEUE, else one that is derived from the
 * store's id, so that two projects on one Temporal server do not take each other's threads.
 */
export function taskQueueOf(storeId: string, given?: string, environment = process.env): string {
  return given ?? environment['EVERTHREAD_TASK_QUEUE'] ?? ownTaskQueue(storeId)
}

/** The task queue that only this store's workers have, unless somebody says otherwise. */
export function ownTaskQueue(storeId: string): string {
  return `everthread-${storeId}`
}
