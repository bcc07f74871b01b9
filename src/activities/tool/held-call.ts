import type { ActionDecision } from '../../protocol/event-codes.js'
import type {
  EndAnswer,
  ExecuteToolInput,
  ResultAnswer,
  TerminatedAnswer,
} from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { holderOfCall } from '../../store/calls/close-open-calls.js'
import type { CallHolder } from '../../store/calls/close-open-calls.js'
import { answerRequest, findRequest } from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { adoptToolCall, findToolCall, startToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { appendEvents } from '../../store/events.js'
import { placeQueuedTool } from '../../store/messages/queued-tools.js'
import { findOperation, insertOperation, takeOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { meanwhile } from '../../store/transaction.js'
import { scheduledAt, takeOver } from '../operation.js'
import { callScope, microseconds, phaseFive } from '../scope.js'
import type { HeldInput } from '../scope.js'
import { movesActivity, openThread } from '../thread-row.js'
import type { OpenThread } from '../thread-row.js'

/** A call that this attempt holds. */
export interface HeldCall {
  readonly input: HeldInput
  readonly row: ToolCallRecord
  /** Where the message of the call is, and so its result. */
  readonly holder: CallHolder
  readonly operationId: string
  readonly attempt: number
  /** Attempts that only asked whether the call may begin: to the tool they are none. */
  readonly asked: number
  /** The id that was kept for the result's row, because nested rows name it; null: any. */
  readonly resultId: string | null
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
}

type Begun =
  | { readonly kind: 'answered'; readonly answer: ResultAnswer | EndAnswer | TerminatedAnswer }
  | { readonly kind: 'held'; readonly call: HeldCall }
  /** An earlier attempt started it and left no outcome. */
  | { readonly kind: 'cut_off'; readonly call: HeldCall }

interface Beginning {
  /** The call's own id, or that of the second half of a call that waited. */
  readonly operationId: string
  /** One that was cut off may be done once more. */
  readonly again: boolean
  /** The call begins here: it gets its opening events. */
  readonly opens: boolean
  /** What the call waited for, if it did. */
  readonly response?: CallResponse | null
  /** The id for the result's row, if rows below the call need it before. */
  readonly resultId?: string
}

/** The first transaction of a call: its `started` row, before anything is done. */
export async function beginCall(store: Store, input: HeldInput, beginning: Beginning): Promise<Begun> {
  const { operationId, again } = beginning
  return store.write(async (tx): Promise<Begun> => {
    const entered = await enterCall(tx, input, operationId)
    if (entered.kind === 'answered') return entered
    const { operation } = entered
    if (operation?.state === 'started') {
      const call = await takeAgain(tx, { input, entered, operation })
      return { kind: again ? 'held' : 'cut_off', call }
    }
    return { kind: 'held', call: await start(tx, { input, entered }, beginning) }
  })
}

interface Starting {
  readonly input: HeldInput
  readonly entered: Extract<Entered, { readonly kind: 'entered' }>
}

/** Of a call that never began, or that waited to be allowed to: nothing of it has happened so far. */
async function start(
  tx: Writer,
  { input, entered }: Starting,
  { operationId, opens, response = null, resultId }: Beginning,
): Promise<HeldCall> {
  const { thread, operation, row, holder, opening } = entered
  const { threadId, callId } = input
  const now = microseconds(input)
  const asked = operation?.attempt ?? 0
  const attempt = asked + 1
  const state = 'started'
  if (operation === null) {
    const reserved = resultId === undefined ? {} : { message_id: resultId }
    const operation = { thread_id: threadId, id: operationId, kind: 'tool', state, attempt } as const
    const times = { started_at: now, scheduled_at: scheduledAt() }
    meanwhile(tx, insertOperation(tx, { ...operation, ...times, ...reserved }))
  } else {
    const held = { threadId, id: operationId, attempt, state, scheduledAt: scheduledAt() } as const
    meanwhile(tx, takeOperation(tx, { ...held, detail: { asked } }))
  }
  await startToolCall(tx, { threadId, callId, now })
  const resolved = response === null ? [] : await resolveRequest(tx, input, response)
  const started: Fact = fact('tool.started', { name: row.name }, callScope(input))
  const phase = opens ? phaseFive(input, row) : []
  const events = [...input.facts, ...opening, ...phase, ...resolved, ...(opens ? [started] : [])]
  await appendEvents(tx, { threadId, events, now, movesActivity: movesActivity(thread, now) })
  return {
    ...{ input, row, holder, operationId, attempt, asked, now },
    resultId: operation?.message_id ?? resultId ?? null,
    scope: callScope(input),
  }
}

async function takeAgain(
  tx: Writer,
  { input, entered, operation }: Starting & { readonly operation: OperationRecord },
): Promise<HeldCall> {
  const { row, holder } = entered
  const attempt = await takeOver(tx, operation, 'started')
  return {
    ...{ input, row, holder, attempt, operationId: operation.id, now: microseconds(input) },
    asked: askedOf(operation),
    resultId: operation.message_id,
    scope: callScope(input),
  }
}

function askedOf({ detail }: OperationRecord): number {
  return typeof detail === 'object' && detail !== null && 'asked' in detail ? Number(detail.asked) : 0
}

type Entered =
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

/** What a call waited for has come: the row of the request holds it, `approved` only what a bare update said. */
type CallResponse = NonNullable<ExecuteToolInput['response']>

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
  return [fact('action.resolved', payload, callScope(input))]
}

function decisionOf({ approved }: PendingRecord): ActionDecision {
  if (approved === null) return 'answered'
  return approved ? 'approved' : 'denied'
}
