/**
 * The worker processes of a store that are alive. Each counts its beats in a row of its own: whoever reads the rows compares counts and
 * not times, so the clocks of machines may differ.
 */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import type { Schema } from './schema.js'
import type { Reader, Writer } from './store.js'

export type WorkerRow = Selectable<Schema['workers']>

/** Counts one more beat of a worker; the first one makes its row, also again where another worker took it for dead. */
export async function countBeat(
  tx: Writer,
  { id, identity }: Pick<WorkerRow, 'id' | 'identity'>,
): Promise<void> {
  await tx
    .insertInto('workers')
    .values({ id, identity, beats: 1 })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ beats: sql<number>`workers.beats + 1` }))
    .execute()
}

export function listWorkers(db: Reader): Promise<readonly WorkerRow[]> {
  return db.selectFrom('workers').selectAll().orderBy('id').execute()
}

/** Takes the row of a worker that died. Returns false if it has beaten since, or another worker has taken it. */
export async function takeDeadWorker(
  tx: Writer,
  { id, beats }: Pick<WorkerRow, 'id' | 'beats'>,
): Promise<boolean> {
  const result = await tx
    .deleteFrom('workers')
    .where('id', '=', id)
    .where('beats', '=', beats)
    .executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** The worker has ended. */
export async function removeWorker(tx: Writer, id: string): Promise<void> {
  await tx.deleteFrom('workers').where('id', '=', id).execute()
}
