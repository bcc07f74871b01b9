import type {
  EndAnswer,
  ExecuteToolInput,
  PendingAnswer,
  ResultAnswer,
  TerminatedAnswer,
} from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { insertOperation, takeOperation } from '../../store/operations.js'
import { insertRequest } from '../../store/pending.js'
import type { Store, Writer } from '../../store/store.js'
import { microseconds } from '../call-model/model-step.js'
import type { Thrown } from '../thrown.js'
import { approvalAnswer, approvalId, argumentsDigest } from './approval.js'
import { callScope } from './held-input.js'
import { enterCall } from './enter-call.js'
import { resolveRequest } from './resolve-request.js'

interface Question {
  /** How often the call has asked before. */
  readonly asked: number
  /** Why the tool's own check gave no answer, if it did not. */
  readonly problem: Thrown | null
}

/** Puts the question to a person, in one transaction. Null: another attempt has begun the call meanwhile. */
export async function askApproval(
  store: Store,
  input: ExecuteToolInput,
  { asked, problem }: Question,
): Promise<PendingAnswer | ResultAnswer | EndAnswer | TerminatedAnswer | null> {
  const { threadId, callId, response } = input
  return store.write(async (tx) => {
    const entered = await enterCall(tx, input, callId)
    if (entered.kind === 'answered') return entered.answer
    const { operation, row, opening } = entered
    if (operation?.state === 'started') return null
    const now = microseconds(input)
    const state = 'waiting'
    const attempt = (operation?.attempt ?? 0) + 1
    if (operation === null)
      await insertOperation(tx, {
        thread_id: threadId,
        id: callId,
        kind: 'tool',
        state,
        attempt,
        started_at: now,
      })
    else await takeOperation(tx, { threadId, id: callId, attempt, state })
    const id = approvalId(callId, asked + 1)
    const digest = argumentsDigest(row)
    const request = {
      thread_id: threadId,
      id,
      kind: 'approval',
      call_id: callId,
      tool_name: row.name,
      digest,
    } as const
    if (!(await insertRequest(tx, { ...request, requested_at: now }))) return approvalAnswer(id)
    const resolved = response === null ? [] : await resolveRequest(tx, input, response)
    const warned = problem === null ? [] : [await recordProblem(tx, input, problem)]
    const required = {
      type: 'action.required',
      scope: callScope(input),
      payload: { requestId: id, kind: 'approval', toolName: row.name },
    }
    const events = [...input.facts, ...opening, ...resolved, ...warned, required]
    await appendEvents(tx, { threadId, events, now })
    return approvalAnswer(id)
  })
}

/** A check that fails asks, and says so where operators look (T5). */
async function recordProblem(tx: Writer, input: ExecuteToolInput, problem: Thrown): Promise<Fact> {
  const { threadId, callId } = input
  const at = microseconds(input)
  const { message, stack } = problem
  await recordError(tx, {
    id: `${threadId}:${callId}:approval`,
    threadId,
    at,
    type: 'approval_check',
    message,
    stack,
  })
  return {
    type: 'runtime.warning',
    scope: callScope(input),
    payload: {
      code: 'approval_check_failed',
      message: 'The check whether a call needs approval failed: it asks.',
    },
  }
}
