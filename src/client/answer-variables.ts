import type { Fact } from '../protocol/facts.js'
import { RequestNotFoundError } from '../protocol/thread-error.js'
import { appendEvents } from '../store/events.js'
import type { PendingRecord } from '../store/pending.js'
import type { Store } from '../store/store.js'
import { answerableRequest, decide } from './answer-row.js'
import { microseconds } from './clock.js'
import { hasVariables, putVariables } from './set-variables.js'
import type { VariableValues } from './set-variables.js'

interface AnsweringVariables {
  readonly threadId: string
  readonly requestId: string
  readonly values: VariableValues
}

/**
 * Stores the values that a blocked run lacks, with the answer of its request: the row holds names only, for a digest of
 * a short secret gives it away. @throws RequestNotFoundError, MessageRejectedError for an answer of another kind
 */
export async function answerVariables(
  store: Store,
  { threadId, requestId, values }: AnsweringVariables,
): Promise<PendingRecord> {
  return store.write(async (tx) => {
    const request = await answerableRequest(tx, { threadId, requestId, kind: 'variables' })
    if (request.status === 'open') await putVariables(tx, store.secrets, { threadId, values })
    if (request.status === 'answered' && !(await hasVariables(tx, store.secrets, { threadId, values })))
      throw new RequestNotFoundError(threadId, { id: requestId, reason: 'one with another answer' })
    const answer = { names: Object.keys(values).toSorted() }
    const now = microseconds()
    // The run that looks again ends the requests that are open: this one is not any more.
    if ((await decide(tx, { threadId, id: requestId, answer, now })) === 'answered')
      await appendEvents(tx, { threadId, events: [supplied(requestId)], now })
    return request
  })
}

function supplied(requestId: string): Fact {
  const payload = { requestId, kind: 'variables', decision: 'supplied', by: null }
  return { type: 'action.resolved', payload }
}
