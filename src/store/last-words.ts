import type { RunKey } from './runs.js'
import type { Reader } from './store.js'

/** What a side said last in a run, to be seen and not inside a tool; null if none said anything. */
export async function lastWords(db: Reader, { threadId, number }: RunKey): Promise<string | null> {
  const row = await db
    .selectFrom('messages')
    .select('content')
    .where('thread_id', '=', threadId)
    .where('run', '=', number)
    .where('depth', '=', 0)
    .where('role', 'in', ['user', 'assistant'])
    // What comes from outside has none.
    .where('side', 'is not', null)
    .where('silent', '=', 0)
    .where('status', '=', 'completed')
    .where('content', '<>', '')
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.content ?? null
}
