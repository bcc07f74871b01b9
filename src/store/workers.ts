/**
 * The worker processes of a store. Each has a row with the count that it has come to: whoever reads the rows compares counts and not
 * times, so the clocks of machines may differ.
 */
import type { Selectable } from 'kysely'
import type { Schema } from './schema.js'
import type { Reader, Writer } from './store.js'

export type WorkerRow = Selectable<Schema['workers']>

/**
 * Writes the count that a worker has come to. Its first beat makes its row, also again where another worker took it for dead.
 * `held`: ids of dead workers that it is giving back; their rows get the same count, so that nobody else takes them meanwhile.
 */
export async function countBeat(tx: Writer, worker: WorkerRow, held: readonly string[] = []): Promise<void> {
  const { beats } = worker
  await tx
    .insertInto('workers')
    .values(worker)
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ beats }))
    .execute()
  if (held.length > 0) await tx.updateTable('workers').set({ beats }).where('id', 'in', held).execute()
}

export function listWorkers(db: Reader): Promise<readonly WorkerRow[]> {
  return db.selectFrom('workers').selectAll().orderBy('id').execute()
}

/**
 * Takes the row of a worker that died, until the count is as far behind again: its taker may die too. Returns false if it has
 * beaten since, or another worker has taken it.
 */
export async function takeDeadWorker(
  tx: Writer,
  { id, beats }: Pick<WorkerRow, 'id' | 'beats'>,
  count: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('workers')
    .set({ beats: count })
    .where('id', '=', id)
    .where('beats', '=', beats)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** So far behind every count that the next look of any worker takes it for dead. */
const NEVER = -1_000_000

/** Declares a worker dead, by somebody who has seen the end of its process: nobody waits for its missed beats then. */
export async function declareDead(tx: Writer, identity: string): Promise<void> {
  await tx.updateTable('workers').set({ beats: NEVER }).where('identity', '=', identity).execute()
}

/** The worker has ended, or all that it had is given back. */
export async function removeWorker(tx: Writer, id: string): Promise<void> {
  await tx.deleteFrom('workers').where('id', '=', id).execute()
}
