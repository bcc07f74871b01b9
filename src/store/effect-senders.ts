import type { Reader } from './store.js'

/**
 * Threads that scheduled an effect of a thread, itself or a relative, as the answers of their calls tell. An endpoint is no
 * call. Reads all operations of parent, thread and children: for what is looked for once in a blue moon.
 */
export async function effectSenders(
  db: Reader,
  threadId: string,
  effectId: string,
): Promise<readonly string[]> {
  const told = `%"${effectId}"%`
  const rows = await db
    .selectFrom('operations')
    .innerJoin('threads as sender', 'sender.id', 'operations.thread_id')
    .innerJoin('threads as target', (join) => join.on('target.id', '=', threadId))
    .select('sender.id')
    .distinct()
    .where((row) =>
      row.or([
        row('sender.id', '=', threadId),
        row('sender.parent_thread_id', '=', threadId),
        row('sender.id', '=', row.ref('target.parent_thread_id')),
      ]),
    )
    .where((row) => row.or([row('answer', 'like', told), row('detail', 'like', told)]))
    .execute()
  return rows.map(({ id }) => id)
}
