import { sql } from 'kysely'
import type { Selectable } from 'kysely'

import type { ChildrenTable } from './schema.js'
import type { Reader } from './store.js'

/** What a model is told of a child that stays. */
export type OpenInstance = Pick<
  Selectable<ChildrenTable>,
  'reference' | 'name' | 'title' | 'description' | 'status'
> & { readonly threadName: string | null }

/** The resumable children of a thread that are not closed, in the order in which they were made. */
export async function listOpenInstances(
  db: Reader,
  parentThreadId: string,
): Promise<readonly OpenInstance[]> {
  return db
    .selectFrom('children')
    .select(['reference', 'name', 'title', 'thread_name as threadName', 'description'])
    .select(sql<string>`coalesce(status_text, status)`.as('status'))
    .where('parent_thread_id', '=', parentThreadId)
    .where('resumable', '=', 1)
    .where('closed_at', 'is', null)
    .orderBy('created_at')
    .orderBy('reference')
    .execute()
}

/** How many of them are of this agent: each counts against its `maxInstances`. */
export async function countOpenInstances(
  db: Reader,
  { parentThreadId, agent }: { readonly parentThreadId: string; readonly agent: string },
): Promise<number> {
  const { count } = await db
    .selectFrom('children')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('parent_thread_id', '=', parentThreadId)
    .where('agent', '=', agent)
    .where('resumable', '=', 1)
    .where('closed_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}
