import { isDeepStrictEqual } from 'node:util'

import type { ExecuteToolInput, ResultAnswer, TerminatedAnswer } from '../../protocol/activities.js'
import { appendEvents } from '../../store/events.js'
import { findOperation, insertOperation } from '../../store/operations.js'
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
  const { threadId, callId, run, step } = input
  const now = microseconds(input)
  return store.write(async (tx) => {
    if ((await openThread(tx, { threadId, start: null, createdAt: 0 })) === null)
      return { type: 'terminated' }
    const id = `${callId}_missing`
    const detail = { run, step }
    const done = await insertOperation(tx, {
      ...{ thread_id: threadId, id, kind: 'tool', state: 'finished', attempt: 1 },
      ...{ answer: SKIPPED, detail, started_at: now, finished_at: now },
    })
    // Another step named it, and its facts are not stored: a retry's are.
    const known = done ? null : await findOperation(tx, threadId, id)
    if (known !== null && !isDeepStrictEqual(known.detail, detail)) return { ...SKIPPED, untold: true }
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
