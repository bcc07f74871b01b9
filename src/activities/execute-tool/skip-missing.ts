import type { ExecuteToolInput, ResultAnswer, TerminatedAnswer } from '../../protocol/activities.js'
import { appendEvents } from '../../store/events.js'
import { insertOperation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'
import { openThread } from '../thread-row.js'
import { callScope } from './held-input.js'

const SKIPPED: ResultAnswer = { type: 'result', outcome: 'failed' }

/** A tool was queued by a bare signal, without the row that holds its arguments: recorded and skipped (T10). */
export async function skipMissing(
  store: Store,
  input: ExecuteToolInput,
): Promise<ResultAnswer | TerminatedAnswer> {
  const { threadId, callId } = input
  const now = microseconds(input)
  return store.write(async (tx) => {
    if ((await openThread(tx, { threadId, start: null, createdAt: 0 })) === null)
      return { type: 'terminated' }
    const done = await insertOperation(tx, {
      ...{ thread_id: threadId, id: `${callId}_missing`, kind: 'tool', state: 'finished', attempt: 1 },
      ...{ answer: SKIPPED, started_at: now, finished_at: now },
    })
    const message = 'A queued tool was skipped: nothing is stored under its id. Queue tools by a client.'
    const warning = {
      type: 'runtime.warning',
      scope: callScope(input),
      payload: { code: 'tool_skipped', message },
    }
    if (done) await appendEvents(tx, { threadId, events: [...input.facts, warning], now })
    return SKIPPED
  })
}
