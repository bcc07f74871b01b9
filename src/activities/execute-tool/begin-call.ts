import type { EndAnswer, ResultAnswer, TerminatedAnswer } from '../../protocol/activities.js'
import type { EventScope, Fact } from '../../protocol/facts.js'
import type { CallHolder } from '../../store/call-holder.js'
import { appendEvents } from '../../store/events.js'
import { meanwhile } from '../../store/meanwhile.js'
import { insertOperation, takeOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { startToolCall } from '../../store/tool-calls.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import { microseconds } from '../call-model/model-step.js'
import { scheduledAt, takeOver } from '../take-over.js'
import { movesActivity } from '../thread-row.js'
import { enterCall } from './enter-call.js'
import type { Entered } from './enter-call.js'
import { callScope, phaseFive } from './held-input.js'
import type { HeldInput } from './held-input.js'
import { resolveRequest } from './resolve-request.js'
import type { CallResponse } from './resolve-request.js'

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

export type Begun =
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
  const started: Fact = { type: 'tool.started', scope: callScope(input), payload: { name: row.name } }
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
