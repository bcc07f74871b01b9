/** What a reset in Temporal leaves behind: rows that are ahead of the workflow. */
import { numberOfOperation, stepOfModelOperation } from '../../protocol/ids.js'
import type { Reader } from '../store.js'

interface HighestNumbers {
  readonly runs: number
  readonly settles: number
  readonly reports: number
}

/** The last numbers that the thread has used: each counts from 1, and one that failed for good has left no row. */
export async function highestNumbers(db: Reader, threadId: string): Promise<HighestNumbers> {
  const highest = async (kind: string, numberOf: (id: string) => number): Promise<number> =>
    Math.max(0, ...(await newestOperations(db, threadId, kind)).map(numberOf))
  return {
    runs: await highest('model', (id) => stepOfModelOperation(id).run),
    settles: await highest('settle', numberOfOperation),
    reports: await highest('report', numberOfOperation),
  }
}

async function newestOperations(db: Reader, threadId: string, kind: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('kind', '=', kind)
    .orderBy('started_at', 'desc')
    // Some may be of the same moment.
    .limit(20)
    .execute()
  return rows.map(({ id }) => id)
}

/** Those of these messages that belong to a later run than this one, which has not ended. */
export async function unanswered(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
  ids: readonly string[],
): Promise<readonly string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('messages')
    .leftJoin('runs', (join) =>
      join.onRef('runs.thread_id', '=', 'messages.thread_id').onRef('runs.number', '=', 'messages.run'),
    )
    .select('messages.id')
    .where('messages.thread_id', '=', threadId)
    .where('messages.id', 'in', [...new Set(ids)])
    .where('messages.run', '>', run)
    .where('runs.ended_at', 'is', null)
    .execute()
  return rows.map(({ id }) => id)
}
