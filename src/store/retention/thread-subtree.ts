import type { Reader } from '../store.js'
import { treeOf } from '../thread-tree.js'

/** A thread of a tree that is to be deleted. */
export interface SubtreeThread {
  readonly id: string
  readonly parent: string | null
  /** Microseconds; null while it is open. */
  readonly closedAt: number | null
}

/** The thread and all below it, each before the one that started it, so that what is left can always be found again. */
export async function subtreeOf(db: Reader, threadId: string): Promise<readonly SubtreeThread[]> {
  const rows = await treeOf(db, threadId)
    .select(['threads.id', 'threads.parent_thread_id as parent', 'threads.closed_at as closedAt'])
    .execute()
  return deepestFirst(rows, threadId)
}

function deepestFirst(rows: readonly SubtreeThread[], threadId: string): readonly SubtreeThread[] {
  const below = new Map<string, SubtreeThread[]>()
  const top = rows.filter(({ id }) => id === threadId)
  for (const row of rows) {
    if (row.id === threadId || row.parent === null) continue
    const siblings = below.get(row.parent)
    if (siblings === undefined) below.set(row.parent, [row])
    else siblings.push(row)
  }
  const ordered = [...top]
  // Grows while it is walked: level by level.
  for (const { id } of ordered) ordered.push(...(below.get(id) ?? []))
  return ordered.toReversed()
}
