import type { EndAnswer, ResultAnswer, TerminatedAnswer } from '../../protocol/activities.js'
import type { Fact } from '../../protocol/facts.js'
import { holderOfCall } from '../../store/call-holder.js'
import type { CallHolder } from '../../store/call-holder.js'
import { findOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import { placeQueuedTool } from '../../store/place-queued-tool.js'
import type { Writer } from '../../store/store.js'
import { adoptToolCall, findToolCall } from '../../store/tool-calls.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import { microseconds } from '../call-model/model-step.js'
import { openThread } from '../thread-row.js'
import type { OpenThread } from '../thread-row.js'
import type { HeldInput } from './held-input.js'

export type Entered =
  | { readonly kind: 'answered'; readonly answer: ResultAnswer | EndAnswer | TerminatedAnswer }
  | {
      readonly kind: 'entered'
      readonly thread: OpenThread
      readonly row: ToolCallRecord
      readonly holder: CallHolder
      /** Null: nobody has touched the call yet. */
      readonly operation: OperationRecord | null
      /** Events that come before all others of the call. */
      readonly opening: readonly Fact[]
    }

/**
 * The beginning of each transaction that begins something of a call: nothing of a terminated thread is done (T8), and
 * nothing that has an outcome (T4), also when its run was closed before anybody came to it. A tool that a client queued
 * gets its place here.
 */
export async function enterCall(tx: Writer, input: HeldInput, operationId: string): Promise<Entered> {
  const { threadId, callId } = input
  const [thread, operation, row, holder] = await Promise.all([
    openThread(tx, { threadId, start: null, createdAt: 0 }),
    findOperation(tx, threadId, operationId),
    findToolCall(tx, threadId, callId),
    holderOfCall(tx, threadId, callId),
  ])
  if (thread === null) return { kind: 'answered', answer: { type: 'terminated' } }
  // Written by the same activity: the store's boundary.
  if (operation?.state === 'finished') return { kind: 'answered', answer: operation.answer as ResultAnswer }
  if (row === null) throw new Error(`Expected a row of the call ${callId}, found none.`)
  if (row.status !== 'open')
    return { kind: 'answered', answer: { type: 'result', outcome: row.status, untold: true } }
  const { run, step, side } = input
  const place = { run, step, side, now: microseconds(input) }
  const opening = input.queued && !holder.placed ? await placeQueuedTool(tx, row, place) : []
  // Its row has a place, and the step that queued it came to nothing: it belongs to the one that runs it.
  if (input.queued && holder.placed && (row.run !== run || row.step !== step))
    await adoptToolCall(tx, { threadId, callId, run, step, side })
  return { kind: 'entered', thread, row, holder, operation, opening }
}
