import { sql } from 'kysely'

import type { Message } from '../protocol/message.js'
import { messageFromRow } from './message-row.js'
import type { Reader } from './store.js'

/** All messages that wait for their place in the transcript, silent ones too, in the order of acceptance. */
export async function queuedMessages(db: Reader, threadId: string): Promise<readonly Message[]> {
  const rows = await db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .orderBy(sql`rowid`)
    .execute()
  return rows.map(messageFromRow)
}

/** Those of the ids whose messages have their place in the transcript. */
export async function deliveredAmong(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db
    .selectFrom('messages')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('id', 'in', ids)
    .where('position', 'is not', null)
    .execute()
  return new Set(rows.map(({ id }) => id))
}
