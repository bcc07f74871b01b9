import type { Side } from '../protocol/plan.js'
import type { Reader } from './store.js'

/** Steps of a run in which the model of a side has answered. */
export async function countModelSteps(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
): Promise<Readonly<Record<Side, number>>> {
  const rows = await db
    .selectFrom('messages')
    .select(['side', (select) => select.fn.count<number>('step').distinct().as('steps')])
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('sent_by', '=', 'model')
    .where('depth', '=', 0)
    .groupBy('side')
    .execute()
  const of = (side: Side): number => rows.find((row) => row.side === side)?.steps ?? 0
  return { a: of('a'), b: of('b') }
}
