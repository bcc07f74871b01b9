import type { Writer } from './store.js'

const noted = new WeakMap<Writer, Set<string>>()

/**
 * Says that a transaction appends to the thread: whoever watches it is told after the commit. Said before the row of the
 * thread is written, so that a driver knows for which thread a transaction was in conflict with another one.
 */
export function noteChange(tx: Writer, threadId: string): void {
  const threadIds = noted.get(tx)
  if (threadIds === undefined) noted.set(tx, new Set([threadId]))
  else threadIds.add(threadId)
}

/** The threads noted in a transaction. A driver asks when the work is done, and tells when it is committed. */
export function changesIn(tx: Writer): ReadonlySet<string> {
  return noted.get(tx) ?? NONE
}

const NONE: ReadonlySet<string> = new Set()

const fleeting = new WeakSet<Writer>()

/** Says that nobody counts on what a transaction writes: it may be lost when the machine of the database goes down. */
export function noteFleeting(tx: Writer): void {
  fleeting.add(tx)
}

/** Whether a driver may answer before the transaction is on the disk. */
export function isFleeting(tx: Writer): boolean {
  return fleeting.has(tx)
}
