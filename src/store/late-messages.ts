/** What a reset in Temporal leaves behind: rows that are ahead of the workflow. */
import { sql } from 'kysely'

import { stepOfModelOperation } from '../protocol/ids.js'
import type { Reader } from './store.js'

export interface HighestNumbers {
  readonly runs: number
  readonly settles: number
  readonly reports: number
}

/** The last numbers that the thread has used: each counts from 1, without a gap. */
export async function highestNumbers(db: Reader, threadId: string): Promise<HighestNumbers> {
  const newest = await db
    .selectFrom('operations')
    .select('id')
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'model')
    .orderBy('started_at', 'desc')
    // Some may be of the same moment.
    .limit(20)
    .execute()
  const counts = await db
    .selectFrom('operations')
    .select(['kind', sql<number>`count(*)`.as('count')])
    .where('thread_id', '=', threadId)
    .where('kind', 'in', ['settle', 'report'])
    .groupBy('kind')
    .execute()
  const countOf = (kind: string): number => Number(counts.find((row) => row.kind === kind)?.count ?? 0)
  const runs = Math.max(0, ...newest.map(({ id }) => stepOfModelOperation(id).run))
  return { runs, settles: countOf('settle'), reports: countOf('report') }
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
