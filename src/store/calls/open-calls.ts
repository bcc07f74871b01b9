import { randomUUID } from 'node:crypto'
import type { EventScope } from '../../protocol/events.js'
import { fact, phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import { CUT_CALL } from '../../protocol/message.js'
import { appendEvents } from '../events.js'
import { appendMessage } from '../messages/delivery.js'
import { deleteDeltas } from '../messages/deltas.js'
import { placeQueuedTool } from '../messages/queued-tools.js'
import { findOperation } from '../operations.js'
import type { Reader, Writer } from '../store.js'
import { forgetRemoteSecrets } from './remote-calls.js'
import { closeRequests } from './requests.js'
import { failureOfCode } from '../../protocol/payloads/tool-failure.js'
import { finishToolCall, listOpenToolCalls } from './tool-calls.js'
import type { ToolCallRecord } from './tool-calls.js'
import type { Micros } from '../../protocol/time.js'

interface Closing {
  readonly threadId: string
  /** It is also the error code of the results. */
  readonly outcome: keyof typeof CUT_CALL
  readonly now: Micros
  /** Queued tools that have left the queue without running, and the place in the run where they get their results. */
  readonly cut?: { readonly tools: readonly string[]; readonly run: number; readonly step: number }
}

/**
 * Gives every open call a result, also nested and unstarted ones, closes the requests of these calls, and finishes every
 * operation in flight, so that a stale attempt cannot commit (T4, T8). A tool that waits in the queue outlives a run but not
 * its thread; a run closes only tools that have left the queue.
 */
export async function closeOpenCalls(tx: Writer, closing: Closing): Promise<void> {
  const { threadId, outcome, now, cut } = closing
  const closed: string[] = []
  // Nested calls first: the result of a call follows the results of its nested calls.
  for (const call of sortInnermostFirst(await listOpenToolCalls(tx, threadId))) {
    let [held, holder] = [call, await callHolder(tx, call)]
    if (!holder.placed && outcome === 'interrupted') {
      if (cut?.tools.includes(call.id) !== true) continue
      held = { ...call, run: cut.run, step: cut.step }
      holder = { ...holder, placed: true }
      const { events } = await placeQueuedTool(tx, call, { ...held, now })
      await appendEvents(tx, { threadId, events, now })
    }
    await closeCall(tx, held, { ...closing, holder })
    closed.push(call.id)
  }
  await closeRequestsOf(tx, closing, closed)
  await finishOperations(tx, closing)
  await forgetRemoteSecrets(tx, { threadId, callIds: closed })
}

function sortInnermostFirst(calls: readonly ToolCallRecord[]): readonly ToolCallRecord[] {
  const nesting = ({ parent_call_id: parent }: ToolCallRecord): number => {
    const outer = calls.find(({ id }) => id === parent)
    return outer === undefined ? 0 : nesting(outer) + 1
  }
  return calls.toSorted((one, other) => nesting(other) - nesting(one))
}

async function closeCall(
  tx: Writer,
  call: ToolCallRecord,
  { threadId, outcome, now, holder }: Closing & { readonly holder: CallHolder },
): Promise<void> {
  const { id: callId, name, run, step, side } = call
  // The rows of its nested step have this id as their parent.
  const reserved = (await findOperation(tx, threadId, callId))?.message_id
  const messageId = reserved ?? randomUUID()
  const errorCode = outcome
  const finished = { threadId, callId, status: outcome, errorCode, now }
  // What its tool has reported while it ran.
  if (call.started_at !== null) await deleteDeltas(tx, { threadId, messageId: callId })
  // Its message has no place in the transcript, so a result would have no call beside it.
  if (!holder.placed) {
    await finishToolCall(tx, finished)
    return
  }
  await appendMessage(tx, {
    id: messageId,
    threadId,
    role: 'tool',
    content: CUT_CALL[outcome],
    name,
    toolCallId: callId,
    toolStatus: 'error',
    createdAt: now,
    sentBy: 'runtime',
    parentId: holder.parentId,
    depth: holder.depth,
    side,
    run,
    step,
  })
  await finishToolCall(tx, { ...finished, resultMessageId: messageId })
  const scope = { ...scopeOf(call), messageId }
  const failure = failureOfCode(outcome, errorCode)
  const event = fact('tool.result', { name, outcome, errorCode, failure }, scope)
  await appendEvents(tx, { threadId, events: [event], now })
}

function scopeOf({ id, run, step }: ToolCallRecord): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step), toolCallId: id }
}

/** The end of a run leaves the request open that it is blocked on; the end of a thread closes all requests. */
async function closeRequestsOf(
  tx: Writer,
  { threadId, outcome, now }: Closing,
  callIds: readonly string[],
): Promise<void> {
  const ofCalls = await closeRequests(tx, { threadId, callIds })
  const others = outcome === 'cancelled' ? await closeRequests(tx, { threadId }) : []
  const events = [...ofCalls, ...others].flatMap(({ id: requestId, kind, call_id: callId }) => {
    const scope = callId === null ? {} : { toolCallId: callId }
    const closed = fact('action.resolved', { requestId, kind, decision: 'closed', by: null }, scope)
    const payload = { requestId, resolution: 'cancelled', by: null } as const
    return kind === 'approval' ? [closed, fact('permission.resolved', payload, scope)] : [closed]
  })
  await appendEvents(tx, { threadId, events, now })
}

async function finishOperations(tx: Writer, { threadId, outcome, now }: Closing): Promise<void> {
  const open = await tx
    .selectFrom('operations')
    .select(['kind', 'run', 'step', 'key', 'state', 'message_id'])
    .where('thread_id', '=', threadId)
    .where('state', '<>', 'finished')
    .execute()
  if (open.length === 0) return
  await closeBudgetRequests(tx, { threadId, now })
  await tx
    .updateTable('operations')
    .set({
      state: 'finished',
      answer: JSON.stringify({ type: 'end', reason: outcome, outcome: 'failed' }),
      finished_at: now,
    })
    .where('thread_id', '=', threadId)
    .where('state', '<>', 'finished')
    .execute()
  for (const { kind, run, step, key, state, message_id: messageId } of open) {
    if (messageId !== null) await deleteDeltas(tx, { threadId, messageId })
    // Nested steps have no phase events.
    if (kind !== 'model' || key !== null || run === null || step === null) continue
    await appendEvents(tx, { threadId, events: remainingStepEvents({ run, step, state }, outcome), now })
  }
}

/** A model call that did not fit into a budget waits for no person any more. */
async function closeBudgetRequests(
  tx: Writer,
  { threadId, now }: Pick<Closing, 'threadId' | 'now'>,
): Promise<void> {
  const closed = await closeRequests(tx, { threadId, kind: 'budget' })
  const events = closed.map(({ id: requestId, kind }) =>
    fact('action.resolved', { requestId, kind, decision: 'closed', by: null }),
  )
  if (events.length > 0) await appendEvents(tx, { threadId, events, now })
}

interface InterruptedStep {
  readonly run: number
  readonly step: number
  readonly state: string
}

/** The remaining phase events of a step whose model call has no answer. */
function remainingStepEvents(
  { run, step, state }: InterruptedStep,
  reason: Closing['outcome'],
): readonly Fact[] {
  const scope: EventScope = { runId: runIdOf(run), stepId: stepIdOf(run, step) }
  const marked = state === 'drained' ? 1 : 3
  const phases = ([2, 3, 4, 5, 6, 7] as const).filter((phase) => phase > marked)
  const completed = fact('step.completed', { step, reason }, scope)
  return [...phases.map((phase) => phaseFact(phase, scope)), completed]
}

/** The columns that the result of a tool call copies from the message that holds the call. */
export interface CallHolder {
  readonly parentId: string | null
  readonly depth: number
  /** The prompt that was active when the call was made. */
  readonly prompt: string | null
  /** Whether the message has a place in the transcript: that of a queued tool gets one when its turn comes. */
  readonly placed: boolean
}

/** Reads the holder of a call. A deleted message counts as one at the top level of the transcript. */
export async function callHolder(
  db: Reader,
  { thread_id: threadId, message_id: messageId }: Pick<ToolCallRecord, 'thread_id' | 'message_id'>,
): Promise<CallHolder> {
  return holderOf(await holders(db, threadId).where('id', '=', messageId).executeTakeFirst())
}

/** Reads the holder by the id of the call, so that both rows can be read at the same time. */
export async function holderOfCall(db: Reader, threadId: string, callId: string): Promise<CallHolder> {
  const messageId = db
    .selectFrom('tool_calls')
    .select('message_id')
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
  return holderOf(await holders(db, threadId).where('id', '=', messageId).executeTakeFirst())
}

function holders(db: Reader, threadId: string) {
  return db
    .selectFrom('messages')
    .select(['parent_id', 'depth', 'prompt', 'position'])
    .where('thread_id', '=', threadId)
}

type Holder = Awaited<ReturnType<ReturnType<typeof holders>['executeTakeFirst']>>

function holderOf(message: Holder): CallHolder {
  if (message === undefined) return { parentId: null, depth: 0, prompt: null, placed: true }
  const { parent_id: parentId, depth, prompt, position } = message
  return { parentId, depth, prompt, placed: position !== null }
}
