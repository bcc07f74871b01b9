import type { Writer } from './store.js'

interface Reports {
  readonly threadId: string
  /** The children whose reports they are. */
  readonly references: readonly string[]
  /** These messages only. @default all */
  readonly ids?: readonly string[]
}

/** T3: reports that wait for a place, and whose words came another way: their rows stay and say so. */
export async function dropReports(tx: Writer, { threadId, references, ids }: Reports): Promise<void> {
  if (references.length === 0 || ids?.length === 0) return
  let query = tx
    .updateTable('messages')
    .set({ status: 'removed' })
    .where('thread_id', '=', threadId)
    .where('subagent_id', 'in', references)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
  if (ids !== undefined) query = query.where('id', 'in', ids)
  await query.execute()
}
