import type { CallInput, ResultAnswer, TerminatedAnswer } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { EventScope, Fact } from '../../protocol/facts.js'
import { appendEvents } from '../../store/events.js'
import { findOperation, insertOperation, takeOperation } from '../../store/operations.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { findToolCall, startToolCall } from '../../store/tool-calls.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import { microseconds, stepScope } from '../call-model/model-step.js'
import { openThread } from '../thread-row.js'

/** A call that this attempt holds. */
export interface HeldCall {
  readonly input: CallInput
  readonly row: ToolCallRecord
  readonly operationId: string
  readonly attempt: number
  readonly scope: EventScope
  /** Microseconds. */
  readonly now: number
}

export type Begun =
  | { readonly kind: 'answered'; readonly answer: ResultAnswer | TerminatedAnswer }
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
}

/** The first transaction of a call: its `started` row, before anything is done. */
export async function beginCall(store: Store, input: CallInput, beginning: Beginning): Promise<Begun> {
  const { operationId } = beginning
  return store.write(async (tx): Promise<Begun> => {
    const thread = await openThread(tx, { threadId: input.threadId, start: null, createdAt: 0 })
    if (thread === null) return { kind: 'answered', answer: { type: 'terminated' } }
    const operation = await findOperation(tx, input.threadId, operationId)
    // Written by the same activity: the store's boundary.
    if (operation?.state === 'finished') return { kind: 'answered', answer: operation.answer as ResultAnswer }
    const row = await findToolCall(tx, input.threadId, input.callId)
    if (row === null) throw new Error(`Expected a row of the call ${input.callId}, found none.`)
    const call = { input, row, operationId, scope: callScope(input), now: microseconds(input) }
    if (operation === null)
      return { kind: 'held', call: { ...call, attempt: await start(tx, { input, row }, beginning) } }
    const attempt = await takeAgain(tx, input, operation)
    return { kind: beginning.again ? 'held' : 'cut_off', call: { ...call, attempt } }
  })
}

function callScope(input: CallInput): EventScope {
  return { ...stepScope(input), toolCallId: input.callId }
}

/** Phase 5 comes with the first call of a step. */
function openingEvents(input: CallInput, { name }: ToolCallRecord): readonly Fact[] {
  const phase = input.first ? [phaseFact(5, stepScope(input))] : []
  return [...phase, { type: 'tool.started', scope: callScope(input), payload: { name } }]
}

async function start(
  tx: Writer,
  { input, row }: Pick<HeldCall, 'input' | 'row'>,
  { operationId, opens }: Beginning,
): Promise<number> {
  const { threadId, callId } = input
  const now = microseconds(input)
  await insertOperation(tx, {
    thread_id: threadId,
    id: operationId,
    kind: 'tool',
    state: 'started',
    attempt: 1,
    started_at: now,
  })
  await startToolCall(tx, { threadId, callId, now })
  const events = opens ? openingEvents(input, row) : []
  await appendEvents(tx, { threadId, events: [...input.facts, ...events], now })
  return 1
}

async function takeAgain(tx: Writer, input: CallInput, operation: OperationRecord): Promise<number> {
  const attempt = operation.attempt + 1
  await takeOperation(tx, { threadId: input.threadId, id: operation.id, attempt, state: 'started' })
  return attempt
}
