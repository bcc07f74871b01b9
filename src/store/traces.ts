import type { RunKey } from './runs.js'
import type { Reader } from './store.js'

/** The trace contexts of a thread's messages, in the order of their ids; those without one are left out. */
export async function tracesOfMessages(
  db: Reader,
  threadId: string,
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('messages')
    .select(['id', 'traceparent'])
    .where('thread_id', '=', threadId)
    .where('id', 'in', [...ids])
    .where('traceparent', 'is not', null)
    .execute()
  const traces = new Map(rows.map(({ id, traceparent }) => [id, traceparent]))
  return ids.flatMap((id) => traces.get(id) ?? [])
}

/** What the steps of a run stand below; null before its first one. */
export async function traceOfRun(db: Reader, { threadId, number }: RunKey): Promise<string | null> {
  const row = await db
    .selectFrom('runs')
    .select('traceparent')
    .where('thread_id', '=', threadId)
    .where('number', '=', number)
    .executeTakeFirst()
  return row?.traceparent ?? null
}

/** Of the row that holds a call: the step, or the client, that asked for it. */
export async function traceOfCall(db: Reader, threadId: string, callId: string): Promise<string | null> {
  const row = await db
    .selectFrom('tool_calls as call')
    .innerJoin('messages as holder', (join) =>
      join.onRef('holder.thread_id', '=', 'call.thread_id').onRef('holder.id', '=', 'call.message_id'),
    )
    .select('holder.traceparent')
    .where('call.thread_id', '=', threadId)
    .where('call.id', '=', callId)
    .executeTakeFirst()
  return row?.traceparent ?? null
}
