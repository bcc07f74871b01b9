import { sql } from 'kysely'

import { LIMITS } from '../../protocol/limits.js'
import type { Store, Writer } from '../store.js'
import { updateThread } from '../threads.js'

/** Tables of a thread's rows, with the column that tells two rows of one thread apart. */
const OWNED = {
  messages: 'id',
  tool_calls: 'id',
  operations: 'id',
  runs: 'number',
  files: 'path',
  thread_values: 'key',
  events: 'id',
  deltas: 'id',
  pending: 'id',
  effects: 'id',
  variables: 'name',
  boundaries: 'id',
  errors: 'id',
  thread_tags: 'tag',
} as const

/** When the top of a tree closed whose deletion was begun: before all others, so that the next sweep finds it first. */
export const DELETED_AT = 0

/** From this commit on the tree is on its way out. False if the thread is open, or not there any more. */
export async function markDeleting(tx: Writer, threadId: string): Promise<boolean> {
  const found = await tx
    .selectFrom('threads')
    .select('closed_at')
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (found === undefined || found.closed_at === null) return false
  return updateThread(tx, threadId, { status: 'deleting', closed_at: DELETED_AT })
}

/**
 * Deletes all rows of one closed thread, in batches, so that no transaction is long; its own row is the last, so that a
 * deletion that was cut off is done again. Bytes of files stay until a sweep finds that no file names them.
 */
export async function deleteThreadRows(store: Store, threadId: string): Promise<void> {
  for (const [table, key] of Object.entries(OWNED))
    await repeated(store, (tx) => deleteBatch(tx, { table, key, owner: 'thread_id', threadId }))
  const children = { table: 'children', key: 'reference', owner: 'parent_thread_id', threadId }
  await repeated(store, (tx) => deleteBatch(tx, children))
  await store.write((tx) => tx.deleteFrom('threads').where('id', '=', threadId).execute())
}

interface Batch {
  readonly table: string
  readonly key: string
  readonly owner: string
  readonly threadId: string
}

async function deleteBatch(tx: Writer, { table, key, owner, threadId }: Batch): Promise<number> {
  const [from, column, by] = [sql.table(table), sql.ref(key), sql.ref(owner)]
  const some = sql`select ${column} from ${from} where ${by} = ${threadId} limit ${sql.lit(LIMITS.deletedAtOnce)}`
  const deletion = sql`delete from ${from} where ${by} = ${threadId} and ${column} in (${some}) returning 1`
  return (await deletion.execute(tx)).rows.length
}

/** Until a batch is not full. */
export async function repeated(store: Store, batch: (tx: Writer) => Promise<number>): Promise<number> {
  for (let deleted = 0; ;) {
    const count = await store.write(batch)
    deleted += count
    if (count < LIMITS.deletedAtOnce) return deleted
  }
}
