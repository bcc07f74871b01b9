/** Phase 6: outcome, tool row, effects and events in one transaction, by the attempt that holds the call (T2, T4, T9). */
import type { ResultAnswer, Usage } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { queuesTool } from '../../protocol/operations.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { appendEvents } from '../../store/events.js'
import { meanwhile } from '../../store/meanwhile.js'
import { findOperation, finishOperation } from '../../store/operations.js'
import { dropEarlyAnswer } from '../../store/pending.js'
import type { Store, Writer } from '../../store/store.js'
import { finishToolCall } from '../../store/tool-calls.js'
import { commitHeld, finishOrLose } from '../commit.js'
import { saysIfCallIsCut } from '../cut-answer.js'
import { TooManyOperations, assertFitting } from '../fitting-operations.js'
import { stepScope } from '../call-model/model-step.js'
import { publishStatus } from '../publish-status.js'
import { withoutHooks } from '../hooks/hook-batch.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { StateEffects } from '../thread-state/buffered-thread-state.js'
import type { HeldCall } from './begin-call.js'
import { errorDigest, failed } from './call-result.js'
import type { CallResult } from './call-result.js'
import { placeResult } from './place-result.js'
import { atNewPaths, preparedResult } from './prepared-result.js'
import type { PreparedResult } from './prepared-result.js'
import { storeFollowing } from './result-rows.js'

export interface Alongside {
  /** The hooks around the call, with its state: what both did to the thread is committed with the result. */
  readonly hooks?: HookBatch
  /** What the workflow has to do about it, beside what they did. */
  readonly operations?: readonly ThreadOperation[]
  /** A child's queued report that becomes the result's row. */
  readonly reportId?: string
  /** Events that come first, of a call that ends where it would have begun. */
  readonly opening?: (tx: Writer) => Promise<readonly Fact[]>
  /** Of models that were called within the call. */
  readonly usage?: Usage | null
  /** The operation of the call's first half, where it is still open: it ends with the call. */
  readonly closes?: string
  /** What else ends with the call. */
  readonly ending?: (tx: Writer) => Promise<void>
}

/** A call that did more to its thread than its answer can tell has done nothing, and the model reads why. */
export async function commitResult(
  store: Store,
  call: HeldCall,
  made: CallResult | PreparedResult,
  alongside: Alongside = {},
): Promise<ResultAnswer> {
  try {
    const named = 'put' in made ? made : await saysIfCallIsCut(store, call.row, made)
    return await commitMade(store, call, named, alongside)
  } catch (error) {
    if (!(error instanceof TooManyOperations)) throw error
    const { hooks: _undone, operations: _untold, ...others } = alongside
    return commitMade(store, call, failed(error.message, 'too_many_operations'), others)
  }
}

async function commitMade(
  store: Store,
  call: HeldCall,
  made: CallResult | PreparedResult,
  alongside: Alongside,
): Promise<ResultAnswer> {
  const { threadId, callId } = call.input
  const { hooks = withoutHooks(), reportId = null } = alongside
  const prepared = 'put' in made ? made : await preparedResult(store, call, { made, hooks })
  const place = await placeResult(call, prepared, { hooks, reportId })
  return commitHeld(store, { threadId, id: call.operationId }, async (tx): Promise<ResultAnswer> => {
    const opening = (await alongside.opening?.(tx)) ?? []
    const placed = await place(tx)
    const result = atNewPaths(prepared.result, placed.moved)
    const following = await storeFollowing(tx, call, result)
    const answer = answerOf(result, placed, alongside)
    assertFitting(answer.operations)
    const { attempt, now } = call
    meanwhile(tx, finishOrLose(tx, { threadId, id: call.operationId, attempt, answer, now }))
    if (alongside.closes !== undefined) await close(tx, call, { id: alongside.closes, answer })
    await alongside.ending?.(tx)
    const { outcome: status, errorCode, session } = result
    const finished = { threadId, callId, status, errorCode, session, now }
    meanwhile(tx, finishToolCall(tx, { ...finished, resultMessageId: placed.messageId }))
    meanwhile(tx, dropEarlyAnswer(tx, { threadId, callId }))
    if (result.statusText !== null)
      await publishStatus(tx, { reference: threadId, text: result.statusText, now })
    const events = [
      ...opening,
      ...placed.events,
      ...resultEvents(call, result, { messageId: placed.messageId, answer }),
      ...following,
    ]
    // What began the call has moved it.
    await appendEvents(tx, { threadId, events, now, movesActivity: alongside.opening !== undefined })
    return answer
  })
}

/** T4: whoever looks for the outcome of the first half finds that of the call. */
async function close(
  tx: Writer,
  { input: { threadId }, now }: HeldCall,
  { id, answer }: { readonly id: string; readonly answer: ResultAnswer },
): Promise<void> {
  const operation = await findOperation(tx, threadId, id)
  if (operation !== null) await finishOperation(tx, { threadId, id, attempt: operation.attempt, answer, now })
}

function answerOf(result: CallResult, effects: StateEffects, alongside: Alongside): ResultAnswer {
  const { outcome, content, followedBy } = result
  const operations = [...effects.operations, ...(alongside.operations ?? [])]
  const usage = alongside.usage ?? null
  return {
    type: 'result',
    outcome,
    ...(outcome === 'failed' ? { errorDigest: errorDigest(content) } : {}),
    ...(operations.length === 0 ? {} : { operations }),
    ...(usage === null ? {} : { usage }),
    ...(followedBy === null || followedBy.side === null ? {} : { text: true }),
  }
}

function resultEvents(
  { input, row, scope }: HeldCall,
  result: CallResult,
  { messageId, answer }: { readonly messageId: string | null; readonly answer: ResultAnswer },
): readonly Fact[] {
  const ends = input.last && row.parent_call_id === null && !queuesTool(answer.operations)
  const phase = ends ? [phaseFact(6, stepScope(input))] : []
  const { outcome, errorCode, errorId, subagentId } = result
  const child = subagentId === null ? {} : { childId: subagentId }
  const about = messageId === null ? scope : { ...scope, messageId }
  const erased = messageId === null ? { erased: true } : {}
  const thrown = errorId === null ? {} : { errorId }
  const payload = { name: row.name, outcome, errorCode, ...thrown, ...erased }
  return [...phase, { type: 'tool.result', scope: { ...about, ...child }, payload }]
}
