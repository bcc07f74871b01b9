import type { CallModelInput } from '../../protocol/activities.js'
import type { Plan } from '../../protocol/plan.js'
import type { Writer } from '../../store/store.js'

/**
 * Whether a thread that is asked to go on has something to say: what was cut, what failed, or what nobody
 * has answered.
 */
export async function asksForStep(tx: Writer, input: CallModelInput, type: Plan['type']): Promise<boolean> {
  const last = await tx
    .selectFrom('messages')
    .select(['role', 'status'])
    .where('thread_id', '=', input.threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (last === undefined) return false
  return type === 'dual_ai' || last.role !== 'assistant' || last.status !== 'completed'
}
