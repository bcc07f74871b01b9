import { setTimeout as sleep } from 'node:timers/promises'

import type { Store } from '../store/store.js'

/** A look costs microseconds, and text that streams is written each 10 ms. */
const POLL = 15

export interface ChangeWait {
  /** What `store.changed()` was before the caller read: no commit after that is missed. */
  readonly since: number
  /** Milliseconds of Date.now(). */
  readonly until?: number
  readonly signal?: AbortSignal | undefined
}

/** Returns when anything was committed, by whatever process, or when the time or the caller's patience is over. */
export async function storeChange(
  store: Store,
  { since, until = Infinity, signal }: ChangeWait,
): Promise<void> {
  while (store.changed() === since && signal?.aborted !== true && Date.now() < until) await sleep(POLL)
}
