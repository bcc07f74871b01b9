import { sql } from 'kysely'
import type { ToolCallEntry } from '../protocol/message.js'
import type { Reader } from './store.js'

/** A message that waits for its place in the transcript. */
export interface QueuedMessage {
  readonly id: string
  /** Its beginning. */
  readonly text: string
  /** A queued tool's row holds its call, and nothing else. */
  readonly call: ToolCallEntry | null
  /** The child that it is a report of. */
  readonly child: string | null
  readonly createdAt: number
}

export interface QueuedMessages {
  readonly threadId: string
  /** Characters of each text. */
  readonly length: number
  readonly limit: number
}

/** The first messages that wait for their place, silent ones too, in the order in which their rows were written. */
export async function queuedMessages(
  db: Reader,
  { threadId, length, limit }: QueuedMessages,
): Promise<readonly QueuedMessage[]> {
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'tool_calls', 'subagent_id', 'created_at'])
    // Cut here: a thousand whole ones may have a gigabyte.
    .select(sql<string | null>`substr(content, 1, ${sql.lit(length)})`.as('text'))
    .where('thread_id', '=', threadId)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .orderBy('created_at')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id, text, tool_calls: calls, subagent_id: child, created_at: createdAt }) => {
    const [call = null] = calls === null ? [] : (JSON.parse(calls) as readonly ToolCallEntry[])
    return { id, text: text ?? '', call, child, createdAt }
  })
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
