/** Phase 6: outcome, tool row, effects and events in one transaction, by the attempt that holds the call (T2, T4, T9). */
import { randomUUID } from 'node:crypto'
import type { ResultAnswer } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { appendMessage, turnIntoToolResult } from '../../store/deliver-messages.js'
import { appendEvents } from '../../store/events.js'
import { finishOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { finishToolCall } from '../../store/tool-calls.js'
import { OperationLost, commitHeld } from '../commit.js'
import { stepScope } from '../call-model/model-step.js'
import type { StateEffects } from '../thread-state/buffered-thread-state.js'
import type { HeldCall } from './begin-call.js'
import { errorDigest } from './call-result.js'
import type { CallResult } from './call-result.js'
import type { PendingResult } from './to-call-result.js'

interface Alongside {
  /** Commits what the call did to its thread. */
  readonly effects?: (tx: Writer) => Promise<StateEffects>
  /** A child's queued report that becomes the result's row. */
  readonly reportId?: string
}

export async function commitResult(
  store: Store,
  call: HeldCall,
  made: CallResult | PendingResult,
  alongside: Alongside = {},
): Promise<ResultAnswer> {
  const { threadId, callId } = call.input
  return commitHeld(store, { threadId, id: call.operationId }, async (tx): Promise<ResultAnswer> => {
    const effects = (await alongside.effects?.(tx)) ?? NO_EFFECTS
    const result = typeof made === 'function' ? await made(tx, effects) : made
    const messageId = await storeResult(tx, call, result, alongside)
    const answer = answerOf(result, effects)
    const { attempt, now } = call
    if (!(await finishOperation(tx, { threadId, id: call.operationId, attempt, answer, now })))
      throw new OperationLost()
    await finishToolCall(tx, {
      threadId,
      callId,
      status: result.outcome,
      errorCode: result.errorCode,
      resultMessageId: messageId,
      session: result.session,
      now,
    })
    await appendEvents(tx, { threadId, events: resultEvents(call, result, messageId), now })
    return answer
  })
}

const NO_EFFECTS: StateEffects = { operations: [], moved: new Map() }

function answerOf(result: CallResult, effects: StateEffects): ResultAnswer {
  const { outcome, content } = result
  return {
    type: 'result',
    outcome,
    ...(outcome === 'failed' ? { errorDigest: errorDigest(content) } : {}),
    ...(effects.operations.length === 0 ? {} : { operations: effects.operations }),
  }
}

/**
 * Answers the id of the result's row. Ids of rows that the runtime makes are random: one that could be guessed could be
 * taken before by a message of a client, and no commit would ever go through (T10).
 */
async function storeResult(
  tx: Writer,
  { input, row, now }: HeldCall,
  result: CallResult,
  { reportId }: Alongside,
): Promise<string> {
  const { threadId, callId: toolCallId, run, step, side } = input
  const { name } = row
  const toolStatus = result.outcome === 'succeeded' ? 'success' : 'error'
  const { content, attachments, subagentId } = result
  const common = { threadId, toolCallId, name, content, toolStatus, attachments, run, step, side } as const
  if (reportId !== undefined) {
    const position = await turnIntoToolResult(tx, { ...common, messageId: reportId })
    if (position !== null) return reportId
  }
  const id = randomUUID()
  await appendMessage(tx, { ...common, id, role: 'tool', createdAt: now, sentBy: 'tool', subagentId })
  return id
}

function resultEvents(call: HeldCall, result: CallResult, messageId: string): readonly Fact[] {
  const phase = call.input.last ? [phaseFact(6, stepScope(call.input))] : []
  const payload = { name: call.row.name, outcome: result.outcome, errorCode: result.errorCode }
  const scope = {
    ...call.scope,
    messageId,
    ...(result.subagentId === null ? {} : { childId: result.subagentId }),
  }
  return [...phase, { type: 'tool.result', scope, payload }]
}
