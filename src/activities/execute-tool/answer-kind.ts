import type { ExecuteToolAnswer, ExecuteToolInput, KindAnswer } from '../../protocol/activities.js'
import type { ToolPlan } from '../../protocol/plan.js'
import { appendEvents } from '../../store/events.js'
import { insertOperation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'
import { enterCall } from './enter-call.js'

/** The workflow goes on with it. Kept as an operation of its own: a retry on another worker says the same. */
export async function answerKind(
  store: Store,
  input: ExecuteToolInput,
  tool: ToolPlan,
): Promise<ExecuteToolAnswer> {
  const id = `${input.callId}_kind`
  const answer: KindAnswer = { type: 'kind', tool }
  return store.write(async (tx) => {
    const entered = await enterCall(tx, input, id)
    if (entered.kind === 'answered') return entered.answer
    const { threadId } = input
    const now = microseconds(input)
    await insertOperation(tx, {
      ...{ thread_id: threadId, id, kind: 'tool', state: 'finished', attempt: 1, answer },
      ...{ started_at: now, finished_at: now },
    })
    await appendEvents(tx, { threadId, events: [...input.facts, ...entered.opening], now })
    return answer
  })
}
