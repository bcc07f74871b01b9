import type { Reader } from './store.js'

/**
 * Threads that scheduled an effect of a thread, itself or any of its family, as the answers of their calls tell. An endpoint
 * is no call. Reads all operations of the family: for what is looked for once in a blue moon.
 */
export async function effectSenders(
  db: Reader,
  threadId: string,
  effectId: string,
): Promise<readonly string[]> {
  const told = `%"${effectId}"%`
  const rows = await db
    .selectFrom('threads as target')
    .innerJoin('threads as sender', 'sender.root_thread_id', 'target.root_thread_id')
    .innerJoin('operations', 'operations.thread_id', 'sender.id')
    .select('sender.id')
    .distinct()
    .where('target.id', '=', threadId)
    .where((row) => row.or([row('answer', 'like', told), row('detail', 'like', told)]))
    .execute()
  return rows.map(({ id }) => id)
}
