import { noteChange } from './changes.js'
import type { Writer } from './store.js'

/** T3: the next `count` places of a thread's transcript, without gaps; answers the first. */
export async function allocatePositions(tx: Writer, threadId: string, count: number): Promise<number> {
  noteChange(tx, threadId)
  const thread = await tx
    .updateTable('threads')
    .set((update) => ({ last_position: update('last_position', '+', count) }))
    .where('id', '=', threadId)
    .returning('last_position')
    .executeTakeFirst()
  if (thread === undefined) throw new Error(`Expected a row of thread ${threadId}, got none`)
  return thread.last_position - count + 1
}
