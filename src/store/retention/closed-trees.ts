import { DELETED_AT } from './delete-rows.js'
import type { Reader } from '../store.js'
import { subtreeOf } from './thread-subtree.js'

/** Where a page ended. */
export interface ClosedTreeCursor {
  readonly closedAt: number
  readonly id: string
}

export interface ClosedTrees {
  /** Microseconds. */
  readonly before: number
  readonly after: ClosedTreeCursor | null
  readonly limit: number
}

/** Tops of trees that closed before then, the oldest first; also those whose deletion was begun. */
export async function closedTops(
  db: Reader,
  { before, after, limit }: ClosedTrees,
): Promise<readonly ClosedTreeCursor[]> {
  let query = db
    .selectFrom('threads')
    .select(['id', 'closed_at as closedAt'])
    .where('closed_at', 'is not', null)
    .where('closed_at', '<', before)
    .where((where) =>
      where.or([
        where('parent_thread_id', 'is', null),
        where('closed_at', '=', DELETED_AT),
        // Its parent is in no store, or was deleted by itself.
        where.not(
          where.exists(
            where
              .selectFrom('threads as parent')
              .select('parent.id')
              .whereRef('parent.id', '=', 'threads.parent_thread_id'),
          ),
        ),
      ]),
    )
  if (after !== null)
    query = query.where((where) =>
      where(where.refTuple('closed_at', 'id'), '>', where.tuple(after.closedAt, after.id)),
    )
  const rows = await query.orderBy('closed_at').orderBy('id').limit(limit).execute()
  return rows.flatMap(({ id, closedAt }) => (closedAt === null ? [] : [{ id, closedAt }]))
}

/** How many threads a tree has, if all of them closed before then, or their deletion was begun; else null. */
export async function closedTreeSize(db: Reader, threadId: string, before: number): Promise<number | null> {
  const threads = await subtreeOf(db, threadId)
  if (threads.at(-1)?.closedAt === DELETED_AT) return threads.length
  const isOld = threads.every(({ closedAt }) => closedAt !== null && closedAt < before)
  return isOld ? threads.length : null
}
