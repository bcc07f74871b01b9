import { sql } from 'kysely'

import { LIMITS } from '../protocol/limits.js'
import { meanwhile } from './meanwhile.js'
import type { Writer } from './store.js'

/** The later of the recorded activity and `now`: senders' clocks differ, and a list must not jump back. */
export function laterActivity(now: number) {
  return sql<number>`case when last_activity_at < ${now} then ${now} else last_activity_at end`
}

/** Once a second of those that come in a row. */
export async function touchThread(tx: Writer, threadId: string, now: number): Promise<void> {
  const touching = tx
    .updateTable('threads')
    .set({ last_activity_at: now })
    .where('id', '=', threadId)
    .where('last_activity_at', '<', now - LIMITS.messagePrecision * 1000)
  meanwhile(tx, touching.execute())
}
