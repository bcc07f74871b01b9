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
import { forgetRemoteSecrets } from './remote-secrets.js'
import { closeRequests } from './requests.js'
import { finishToolCall, openToolCalls } from './tool-calls.js'
import type { ToolCallRecord } from './tool-calls.js'

interface Closing {
  readonly threadId: string
  /** Also the error code of the results. */
  readonly outcome: keyof typeof CUT_CALL
  /** Microseconds. */
  readonly now: number
  /** Tools that are in no queue any more, and the end of the run that they get their place in. */
  readonly cut?: { readonly tools: readonly string[]; readonly run: number; readonly step: number }
}

/**
 * Gives every open or unstarted call a result, nested ones included, closes what they asked for, and ends every operation
 * in flight, so that an attempt that comes late cannot commit any more (T4, T8). A tool that waits in the queue is an item
 * of its own: it outlives a run, not its thread; only one that has left the queue is closed with its run.
 */
export async function closeOpenCalls(tx: Writer, closing: Closing): Promise<void> {
  const { threadId, outcome, now, cut } = closing
  const closed: string[] = []
  // Nested calls first: the result of the call that they were made for follows theirs.
  for (const call of innermostFirst(await openToolCalls(tx, threadId))) {
    let [held, holder] = [call, await callHolder(tx, call)]
    if (!holder.placed && outcome === 'interrupted') {
      if (cut?.tools.includes(call.id) !== true) continue
      held = { ...call, run: cut.run, step: cut.step }
      holder = { ...holder, placed: true }
      await appendEvents(tx, { threadId, events: await placeQueuedTool(tx, call, { ...held, now }), now })
    }
    await closeCall(tx, held, { ...closing, holder })
    closed.push(call.id)
  }
  await closeAsked(tx, closing, closed)
  await endOperations(tx, closing)
  await forgetRemoteSecrets(tx, { threadId, callIds: closed })
}

function innermostFirst(calls: readonly ToolCallRecord[]): readonly ToolCallRecord[] {
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
  // Rows of its nested step have that id as their parent.
  const reserved = (await findOperation(tx, threadId, callId))?.message_id
  const messageId = reserved ?? randomUUID()
  const errorCode = outcome
  const finished = { threadId, callId, status: outcome, errorCode, now }
  // Its message was rejected, so a result would answer nothing.
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
  const event = fact('tool.result', { name, outcome, errorCode }, scope)
  await appendEvents(tx, { threadId, events: [event], now })
}

function scopeOf({ id, run, step }: ToolCallRecord): EventScope {
  return { runId: runIdOf(run), stepId: stepIdOf(run, step), toolCallId: id }
}

/** A run leaves open what it is blocked on; a thread that ends leaves nothing. */
async function closeAsked(
  tx: Writer,
  { threadId, outcome, now }: Closing,
  callIds: readonly string[],
): Promise<void> {
  const ofCalls = await closeRequests(tx, { threadId, callIds })
  const others = outcome === 'cancelled' ? await closeRequests(tx, { threadId }) : []
  const events = [...ofCalls, ...others].map(({ id, kind, call_id: callId }) =>
    fact(
      'action.resolved',
      { requestId: id, kind, decision: 'closed', by: null },
      callId === null ? {} : { toolCallId: callId },
    ),
  )
  await appendEvents(tx, { threadId, events, now })
}

async function endOperations(tx: Writer, { threadId, outcome, now }: Closing): Promise<void> {
  const open = await tx
    .selectFrom('operations')
    .select(['kind', 'run', 'step', 'key', 'state', 'message_id'])
    .where('thread_id', '=', threadId)
    .where('state', '<>', 'finished')
    .execute()
  if (open.length === 0) return
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
    // Nested steps have no phases of their own.
    if (kind !== 'model' || key !== null || run === null || step === null) continue
    await appendEvents(tx, { threadId, events: cutStepEvents({ run, step, state }, outcome), now })
  }
}

interface CutStep {
  readonly run: number
  readonly step: number
  readonly state: string
}

/** A step whose model call left no answer still gets the rest of its phases. */
function cutStepEvents({ run, step, state }: CutStep, reason: Closing['outcome']): readonly Fact[] {
  const scope: EventScope = { runId: runIdOf(run), stepId: stepIdOf(run, step) }
  const marked = state === 'drained' ? 1 : 3
  const phases = ([2, 3, 4, 5, 6, 7] as const).filter((phase) => phase > marked)
  const completed = fact('step.completed', { step, reason }, scope)
  return [...phases.map((phase) => phaseFact(phase, scope)), completed]
}

/** The message that holds a tool call: its result belongs beside it. */
export interface CallHolder {
  readonly parentId: string | null
  readonly depth: number
  /** The prompt that was active when it was made. */
  readonly prompt: string | null
  /** Whether it has a place in the transcript; a tool queued by a client gets one when its turn comes. */
  readonly placed: boolean
}

/** Of a message that was deleted since, as if it stood at the top of the transcript. */
export async function callHolder(
  db: Reader,
  { thread_id: threadId, message_id: messageId }: Pick<ToolCallRecord, 'thread_id' | 'message_id'>,
): Promise<CallHolder> {
  return holderOf(await holders(db, threadId).where('id', '=', messageId).executeTakeFirst())
}

/** The same where only the call is known: it is read at the same time as the call's row. */
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
