import type {
  EndAnswer,
  ExecuteToolInput,
  ResultAnswer,
  TerminatedAnswer,
} from '../../protocol/activities.js'
import type { ActionDecision } from '../../protocol/event-codes.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Micros } from '../../protocol/time.js'
import { holderOfCall } from '../../store/calls/close-open-calls.js'
import type { CallHolder } from '../../store/calls/close-open-calls.js'
import { answerRequest, findRequest } from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { adoptToolCall, findToolCall, startToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { appendEvents } from '../../store/events.js'
import { placeQueuedTool } from '../../store/messages/queued-tools.js'
import type { Store, Writer } from '../../store/store.js'
import { begin, lookUp } from '../operation.js'
import type { Answered, Beginning, HeldOperation, Unfinished } from '../operation.js'
import { callScope, microseconds, phaseFive } from '../scope.js'
import type { HeldInput } from '../scope.js'
import { movesActivity, openThread } from '../thread-row.js'
import type { OpenThread } from '../thread-row.js'

/** A call that this attempt holds (see `operation.ts`). */
export interface HeldCall {
  readonly input: HeldInput
  readonly row: ToolCallRecord
  /** The message of the call, next to which its result stands. */
  readonly holder: CallHolder
  /** `messageId` is the id that is kept for the result's row, because nested rows name it. */
  readonly operation: HeldOperation
  readonly scope: EventScope
  readonly now: Micros
}

/** What a call answers that must not run. */
type CallAnswer = ResultAnswer | EndAnswer | TerminatedAnswer

type BegunCall =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | { readonly kind: 'held'; readonly call: HeldCall }
  /** An earlier attempt started it and left no outcome, and it must not be done again. */
  | { readonly kind: 'interrupted'; readonly call: HeldCall }

interface CallBeginning {
  /** The call's own id, or that of the second half of a call that waited. */
  readonly id: string
  readonly onInterrupted: Beginning['onInterrupted']
  /** What the call waited for, if it did. */
  readonly response?: CallResponse | null
  /** The id for the result's row, if rows below the call need it before. */
  readonly resultId?: string | undefined
}

/** The first transaction of a call: its `started` row, before anything is done. */
export async function beginCall(
  store: Store,
  input: HeldInput,
  { id, onInterrupted, response = null, resultId }: CallBeginning,
): Promise<BegunCall> {
  return store.write(async (tx): Promise<BegunCall> => {
    const entered = await enterCall(tx, input, id)
    if (entered.kind === 'answered') return entered
    const { row, holder, found } = entered
    const now = microseconds(input)
    const place = { run: input.run, step: input.step }
    const beginning = { kind: 'tool', place, onInterrupted, now, messageId: resultId } as const
    const { kind, held: operation } = await begin(tx, found, beginning)
    if (found.operation?.state !== 'started') await startCall(tx, input, { entered, response })
    return { kind, call: { input, row, holder, operation, scope: callScope(input), now } }
  })
}

interface Starting {
  readonly entered: Extract<Entered, { readonly kind: 'entered' }>
  readonly response: CallResponse | null
}

/** The row and the events of a call that begins; its second half has had its opening events. */
async function startCall(tx: Writer, input: HeldInput, { entered, response }: Starting): Promise<void> {
  const { thread, found, row, opening } = entered
  const { threadId, callId } = input
  const now = microseconds(input)
  await startToolCall(tx, { threadId, callId, now })
  const resolved = response === null ? [] : await resolveRequest(tx, input, response)
  const opens = found.id === callId
  const started: Fact = fact('tool.started', { name: row.name }, callScope(input))
  const phase = opens ? phaseFive(input, row) : []
  const events = [...input.facts, ...opening, ...phase, ...resolved, ...(opens ? [started] : [])]
  await appendEvents(tx, { threadId, events, now, movesActivity: movesActivity(thread, now) })
}

type Entered =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | {
      readonly kind: 'entered'
      readonly thread: OpenThread
      readonly row: ToolCallRecord
      readonly holder: CallHolder
      readonly found: Unfinished
      /** Events that come before all others of the call. */
      readonly opening: readonly Fact[]
    }

/**
 * The beginning of each transaction that begins something of a call: nothing of a terminated thread is done (T8), and
 * nothing that has an outcome (T4). A tool that a client queued gets its place here.
 */
export async function enterCall(tx: Writer, input: HeldInput, id: string): Promise<Entered> {
  const { threadId, callId } = input
  const [thread, found, row, holder] = await Promise.all([
    openThread(tx, { threadId, start: null, createdAt: 0 }),
    lookUp<CallAnswer>(tx, { threadId, id }),
    findToolCall(tx, threadId, callId),
    holderOfCall(tx, threadId, callId),
  ])
  if (thread === null) return { kind: 'answered', answer: { type: 'terminated' } }
  const answer = answerOfCall(input, { found, row })
  if (answer !== null) return { kind: 'answered', answer }
  if (row === null || found.kind === 'answered')
    throw new Error(`Expected a row of the call ${callId}, found none.`)
  const { run, step, side } = input
  const place = { run, step, side, now: microseconds(input) }
  const opening = input.queued && !holder.placed ? await placeQueuedTool(tx, row, place) : []
  // Its row has a place, and the step that queued it did not run it: it belongs to the step that does.
  if (input.queued && holder.placed && (row.run !== run || row.step !== step))
    await adoptToolCall(tx, { threadId, callId, run, step, side })
  return { kind: 'entered', thread, row, holder, found, opening }
}

interface SeenCall<Answer> {
  readonly found: Pick<Answered<Answer>, 'kind' | 'answer'> | Pick<Unfinished, 'kind'>
  readonly row: Pick<ToolCallRecord, 'status' | 'run' | 'step'> | null
}

/**
 * What a call that must not run is answered with (T4): the recorded answer, or only the outcome of its row, where a run
 * was closed before anybody came to the call. Null: it may run.
 */
export function answerOfCall<Answer extends { readonly type: string }>(
  { queued, run, step }: Pick<HeldInput, 'queued' | 'run' | 'step'>,
  { found, row }: SeenCall<Answer>,
): Answer | ResultAnswer | null {
  const answer = found.kind === 'answered' ? found.answer : null
  if (row === null || row.status === 'open') return answer
  // A queued call that is over must neither ask nor wait again. Another step that names it gets only the outcome,
  // while a retry or a reset of the step that ran it gets what the call did to its thread (T9).
  const isOfOtherStep = queued && (answer?.type !== 'result' || row.run !== run || row.step !== step)
  return answer === null || isOfOtherStep ? { type: 'result', outcome: row.status, untold: true } : answer
}

/**
 * The response that a call waited for: the row of the request holds it, and `approved` only what a bare update claims.
 */
type CallResponse = NonNullable<ExecuteToolInput['response']>

/** The decider of a bare update from Temporal's command line: no client wrote a decision into the row. */
const COMMAND_LINE = 'cli'

/**
 * Stores a decision that only an update carried, and returns the event of the decision: once, where the call goes on.
 */
export async function resolveRequest(
  tx: Writer,
  input: HeldInput,
  { requestId, approved }: CallResponse,
): Promise<readonly Fact[]> {
  const { threadId } = input
  if (approved !== undefined)
    // A decision that the row holds already stays.
    await answerRequest(tx, {
      ...{ threadId, id: requestId, approved, by: COMMAND_LINE },
      now: microseconds(input),
    })
  const request = await findRequest(tx, threadId, requestId)
  if (request === null || request.status === 'open') return []
  const { kind, answered_by: by } = request
  const payload = { requestId, kind, decision: decisionOf(request), by }
  return [fact('action.resolved', payload, callScope(input))]
}

function decisionOf({ approved }: PendingRecord): ActionDecision {
  if (approved === null) return 'answered'
  return approved ? 'approved' : 'denied'
}
