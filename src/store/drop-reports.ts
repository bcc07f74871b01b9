import type { Writer } from './store.js'

interface Reports {
  readonly threadId: string
  /** The children whose reports they are. */
  readonly references: readonly string[]
  /** Their messages; what these children told besides stays. */
  readonly ids: readonly string[]
}

/** T3: reports that wait for a place, and whose words came another way: their rows stay and say so. */
export async function dropReports(tx: Writer, { threadId, references, ids }: Reports): Promise<void> {
  if (references.length === 0 || ids.length === 0) return
  await tx
    .updateTable('messages')
    .set({ status: 'removed' })
    .where('thread_id', '=', threadId)
    .where('subagent_id', 'in', references)
    .where('position', 'is', null)
    .where('status', '=', 'pending')
    .where('id', 'in', ids)
    .execute()
}
