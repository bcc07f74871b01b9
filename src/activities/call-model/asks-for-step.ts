import type { ExpressionBuilder } from 'kysely'

import type { CallModelInput } from '../../protocol/activities.js'
import { CUT_OFF } from '../../protocol/message.js'
import type { Plan } from '../../protocol/plan.js'
import type { Schema } from '../../store/schema.js'
import type { Writer } from '../../store/store.js'

/**
 * Whether a thread that is asked to go on has something to say: what was cut, what failed, or what nobody has answered.
 * Immediate subagents start by themselves: nobody has said anything by that.
 */
export async function asksForStep(tx: Writer, input: CallModelInput, type: Plan['type']): Promise<boolean> {
  const last = await tx
    .selectFrom('messages')
    .select(['role', 'status', 'finish_reason'])
    .where('thread_id', '=', input.threadId)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where((rows) => rows.not(rows.or([isStatusLine(rows), isOwnCall(rows)])))
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (last === undefined) return false
  const isWhole = last.status === 'completed' && last.finish_reason !== CUT_OFF
  return type === 'dual_ai' || last.role !== 'assistant' || !isWhole
}

type Rows = ExpressionBuilder<Schema, 'messages'>

/** No model is sent one. */
function isStatusLine(rows: Rows) {
  return rows.and([rows('role', '=', 'system'), rows('sent_by', '=', 'runtime')])
}

/** That the row holds a call which the runtime made, or is its result. */
function isOwnCall(rows: Rows) {
  return rows.exists(
    rows
      .selectFrom('tool_calls as call')
      .innerJoin('messages as holder', (join) =>
        join.onRef('holder.thread_id', '=', 'call.thread_id').onRef('holder.id', '=', 'call.message_id'),
      )
      .select('call.id')
      .whereRef('call.thread_id', '=', 'messages.thread_id')
      .where('holder.sent_by', '=', 'runtime')
      .where((call) =>
        call.or([
          call('call.message_id', '=', call.ref('messages.id')),
          call('call.id', '=', call.ref('messages.tool_call_id')),
        ]),
      ),
  )
}
