import type { ExecuteToolInput } from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import { answerRequest, findRequest } from '../../store/pending.js'
import type { PendingRecord } from '../../store/pending.js'
import type { Writer } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'
import { callScope } from './held-input.js'
import type { HeldInput } from './held-input.js'

/** What a call waited for has come: the row of the request holds it, `approved` only what a bare update said. */
export type CallResponse = NonNullable<ExecuteToolInput['response']>

/** Who decided, where a bare update came from the command line and so nobody wrote a decision into the row before. */
const COMMAND_LINE = 'cli'

/** Writes down what only the update said, and answers the event of the decision: once, where a call goes on from it. */
export async function resolveRequest(
  tx: Writer,
  input: HeldInput,
  { requestId, approved }: CallResponse,
): Promise<readonly Fact[]> {
  const { threadId } = input
  if (approved !== undefined)
    // Refused if the row holds a decision: that one counts.
    await answerRequest(tx, {
      ...{ threadId, id: requestId, approved, by: COMMAND_LINE },
      now: microseconds(input),
    })
  const request = await findRequest(tx, threadId, requestId)
  if (request === null || request.status === 'open') return []
  const { kind, answered_by: by } = request
  const payload = { requestId, kind, decision: decisionOf(request), by }
  return [{ type: 'action.resolved', scope: callScope(input), payload }]
}

function decisionOf({ approved }: PendingRecord): string {
  if (approved === null) return 'answered'
  return approved ? 'approved' : 'denied'
}
