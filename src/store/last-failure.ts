import type { RunKey } from './runs.js'
import type { Reader } from './store.js'

/** What went wrong last in a run, as it is in the transcript: a tool's error, or why a model or hook ended it. */
export interface LastFailure {
  /** Of the tool; null: it was none. */
  readonly tool: string | null
  readonly text: string
}

export async function lastFailure(
  db: Reader,
  { threadId, number }: RunKey,
  of: 'tool' | 'model',
): Promise<LastFailure | null> {
  let query = db
    .selectFrom('messages')
    .select(['name', 'content'])
    .where('thread_id', '=', threadId)
    .where('run', '=', number)
    .where('depth', '=', 0)
    .where('content', '<>', '')
  query =
    of === 'tool'
      ? query.where('role', '=', 'tool').where('tool_status', '=', 'error')
      : query.where('role', '=', 'assistant').where('status', '=', 'failed')
  const row = await query.orderBy('position', 'desc').limit(1).executeTakeFirst()
  if (row === undefined || row.content === null) return null
  return { tool: of === 'tool' ? row.name : null, text: row.content }
}
