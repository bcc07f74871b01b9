import type {
  EndAnswer,
  PendingAnswer,
  ResultAnswer,
  TerminatedAnswer,
  WaitAnswer,
} from '../../protocol/activities.js'
import type { StoredPermissions } from '../../policy/judge.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Micros } from '../../protocol/time.js'
import { holderOfCall } from '../../store/calls/open-calls.js'
import type { CallHolder } from '../../store/calls/open-calls.js'
import { adoptToolCall, findToolCall, startToolCall } from '../../store/calls/tool-calls.js'
import type { ToolCallRecord } from '../../store/calls/tool-calls.js'
import { haveBudgets } from '../../store/budgets/subjects.js'
import type { StoredBudgets } from '../../store/budgets/subjects.js'
import { appendEvents } from '../../store/events.js'
import { placeQueuedTool } from '../../store/messages/queued-tools.js'
import type { Store, Writer } from '../../store/store.js'
import { foundToolLimits } from '../budget/charge.js'
import { chargeTool, chargeToolWithin, limitsTools } from '../budget/charge-tool.js'
import type { ChargedTool } from '../budget/charge-tool.js'
import { begin, continuationOf, lookUp, previousHold, unstoredFacts } from '../operation.js'
import type { Answered, Beginning, HeldOperation, Unfinished } from '../operation.js'
import { callScope, microseconds, phaseFive } from '../scope.js'
import type { HeldInput } from '../scope.js'
import type { ThreadOfCall } from '../../store/threads/threads.js'
import { movesActivity, openThreadForCall } from '../thread-row.js'
import { resolveRequest } from './approval-request.js'
import type { CallResponse } from './approval-request.js'
import { decidePermission } from './permission.js'
import { createInPlaceLog } from './in-place-log.js'
import type { InPlaceLog } from './in-place-log.js'
import type { Denied } from './permission.js'
import type { Permit } from './judge-permit.js'

/** A call that this attempt holds (`operation.ts`). */
export interface HeldCall {
  readonly input: HeldInput
  readonly row: ToolCallRecord
  /** The message that contains the call; the result stands beside it. */
  readonly holder: CallHolder
  /** `messageId` is reserved for the result's row, because nested rows name it as their parent. */
  readonly operation: HeldOperation
  readonly scope: EventScope
  /** Temporal's time when its activity was scheduled. */
  readonly now: Micros
  /** When this attempt took the call, as `performance.now()` had it. */
  readonly since: number
  /** As the call found them. */
  readonly permissions: StoredPermissions
  /** As the call found them. */
  readonly budgets: StoredBudgets
  /** What its code calls in place. */
  readonly inPlace: InPlaceLog
  /** Whether its code has reported something while it ran. */
  readonly live: { isUsed: boolean }
}

/** The answer of a call that must not run. */
type CallAnswer = ResultAnswer | EndAnswer | PendingAnswer | WaitAnswer | TerminatedAnswer

type BegunCall =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | { readonly kind: 'held'; readonly call: HeldCall }
  /** It must not begin: `commitDenial` ends it. */
  | { readonly kind: 'denied'; readonly call: HeldCall; readonly denied: Denied }
  /** An earlier attempt started the call and left no outcome, and the call must not be repeated. */
  | { readonly kind: 'interrupted'; readonly call: HeldCall }

interface CallBeginning {
  /** The id of the call, or of its second half if the call waited. */
  readonly id: string
  readonly onInterrupted: Beginning['onInterrupted']
  /** The response that the call waited for, if it waited. */
  readonly response?: CallResponse | null | undefined
  /** What the sources of the policy say about the call. @default nothing is judged */
  readonly permit?: Permit | null
  /** For the record of a call without a permit. @default a tool */
  readonly called?: Called
  /** The budgets that the call is charged to. @default it is not charged */
  readonly charged?: ChargedTool
  /** The id for the result's row, if rows below the call already need it. */
  readonly resultId?: string | undefined
}

/**
 * Runs the first transaction of a call: its `started` row precedes every effect of the call (T2). A call that budgets limit is charged in it;
 * where the store locks rows, or a person was asked, it begins behind the charge.
 */
export async function beginCall(
  store: Store,
  input: HeldInput,
  { charged, ...beginning }: CallBeginning,
): Promise<BegunCall> {
  const { id, response = null } = beginning
  const limited = foundToolLimits(input.threadId)
  const isFirst = id === input.callId || response !== null
  if (charged === undefined || input.queued || !isFirst || limited === false)
    return assertBegun(await tryToBegin(store, input, beginning))
  const isWithin = !store.locksRows && response === null
  if (isWithin) return assertBegun(await tryToBegin(store, input, { ...beginning, charged, isWithin }))
  // What the charge of the model call before has found says whether to look first.
  const begun = limited === true ? null : await tryToBegin(store, input, { ...beginning, charged })
  if (begun !== null && begun.kind !== 'uncharged') return begun
  const answer = await chargeTool(charged, input, response)
  if (answer !== null) return { kind: 'answered', answer }
  return assertBegun(await tryToBegin(store, input, beginning))
}

type TriedCall = BegunCall | { readonly kind: 'uncharged' }

function assertBegun(tried: TriedCall): BegunCall {
  if (tried.kind === 'uncharged') throw new Error('Expected a call that was charged.')
  return tried
}

/** Begins a call. `isWithin`: it is charged in the same transaction; otherwise a call that has to be charged does not begin. */
async function tryToBegin(
  store: Store,
  input: HeldInput,
  beginning: CallBeginning & { readonly isWithin?: boolean },
): Promise<TriedCall> {
  const { id, onInterrupted, response = null, resultId, permit = null, called = A_TOOL } = beginning
  const { charged, isWithin = false } = beginning
  return store.write(async (tx): Promise<TriedCall> => {
    const entered = await enterCall(tx, input, id)
    if (entered.kind === 'answered') return entered
    if (charged !== undefined && mustCharge(input, entered, { charged, response })) {
      if (!isWithin) return { kind: 'uncharged' }
      const answer = await chargeToolWithin(tx, charged, { input, stored: entered.thread.budgets })
      if (answer !== null) return { kind: 'answered', answer }
    }
    const { row, holder, found } = entered
    const now = microseconds(input)
    const place = { run: input.run, step: input.step }
    const operation = { kind: 'tool', place, onInterrupted, now, messageId: resultId } as const
    const permission = await decidePermission(tx, { ...entered, input, response, called }, permit)
    if (permission.kind === 'answered') return permission
    const { permissions, budgets } = entered.thread
    const about = {
      input,
      row: decidedRow(row, permission),
      holder,
      scope: callScope(input),
      now,
      since: performance.now(),
      permissions,
      budgets,
      inPlace: createInPlaceLog(),
      live: { isUsed: false },
    }
    if (permission.kind === 'denied')
      return {
        kind: 'denied',
        call: { ...about, operation: previousHold(permission.operation, now) },
        denied: permission,
      }
    const { kind, held } = await begin(tx, found, operation)
    if (found.operation?.state !== 'started') await startCall(tx, input, { entered, response, permission })
    return { kind, call: { ...about, operation: held } }
  })
}

type Called = Parameters<typeof decidePermission>[1]['called']

const A_TOOL: Called = { kind: 'tool', mode: undefined }

/** A call that has begun was charged before. What code or a client has queued is no call of a model. */
function mustCharge(
  { queued, callId }: HeldInput,
  { found, thread }: Extract<Entered, { readonly kind: 'entered' }>,
  { charged, response }: { readonly charged: ChargedTool; readonly response: CallResponse | null },
): boolean {
  if (queued || found.operation?.state === 'started') return false
  // The second half of a call was charged with the first one; where it waited for a person, that time does not count.
  if (found.id !== callId && response === null) return false
  return limitsTools(charged) || haveBudgets({ worker: undefined, agent: undefined, stored: thread.budgets })
}

type Permission = Awaited<ReturnType<typeof decidePermission>>

/** The row of a call as its decision leaves it: a hook or a person may have given other arguments. */
function decidedRow(
  row: ToolCallRecord,
  { decision, ...permission }: Extract<Permission, { readonly decision: unknown }>,
): ToolCallRecord {
  const given = 'arguments' in permission ? permission.arguments : undefined
  return {
    ...row,
    // The second half of a call is decided about with its first one.
    decision: row.started_at === null ? (decision ?? row.decision) : row.decision,
    arguments: given ?? row.arguments,
  }
}

interface Starting {
  readonly entered: Extract<Entered, { readonly kind: 'entered' }>
  readonly response: CallResponse | null
  readonly permission: Extract<Permission, { readonly kind: 'granted' }>
}

/** Writes the row and the events of a call that begins; the first half has written the opening events already. */
async function startCall(
  tx: Writer,
  input: HeldInput,
  { entered, response, permission: { decision, events: judged, arguments: given } }: Starting,
): Promise<void> {
  const { thread, found, row, opening } = entered
  const { threadId, callId } = input
  const now = microseconds(input)
  const changed = given === undefined ? {} : { arguments: given }
  await startToolCall(tx, { threadId, callId, now, decision, ...changed })
  const resolved = response === null ? [] : await resolveRequest(tx, input, response)
  // The events of its beginning precede its first part.
  const opens = found.id === callId && continuationOf(found.operation) === null
  const started: Fact = fact('tool.started', { name: row.name }, callScope(input))
  const phase = opens ? phaseFive(input, row) : []
  const events = [
    ...(await unstoredFacts(tx, input)),
    ...opening,
    ...phase,
    ...resolved,
    ...judged,
    ...(opens ? [started] : []),
  ]
  await appendEvents(tx, { threadId, events, now, movesActivity: movesActivity(thread, now) })
}

type Entered =
  | { readonly kind: 'answered'; readonly answer: CallAnswer }
  | {
      readonly kind: 'entered'
      readonly thread: ThreadOfCall
      readonly row: ToolCallRecord
      readonly holder: CallHolder
      readonly found: Unfinished
      /** Events that precede all others of the call. */
      readonly opening: readonly Fact[]
    }

/**
 * Opens each transaction that begins a part of a call. A call of a terminated thread does not run (T8), nor does a call
 * that has an outcome (T4). A tool that a client queued gets its place here.
 */
export async function enterCall(tx: Writer, input: HeldInput, id: string): Promise<Entered> {
  const { threadId, callId } = input
  const [opened, found, row, holder] = await Promise.all([
    openThreadForCall(tx, input),
    lookUp<CallAnswer>(tx, { threadId, id }),
    findToolCall(tx, threadId, callId),
    holderOfCall(tx, threadId, callId),
  ])
  if (opened === null) return { kind: 'answered', answer: { type: 'terminated' } }
  const answer = answerOfCall(input, { found, row })
  if (answer !== null) return { kind: 'answered', answer }
  if (row === null || found.kind === 'answered')
    throw new Error(`Expected a row of the call ${callId}, found none.`)
  const { run, step, side } = input
  const place = { run, step, side, now: microseconds(input) }
  const placed = input.queued && !holder.placed ? await placeQueuedTool(tx, row, place) : null
  const thread = placed?.narrows === true ? await openThreadForCall(tx, input) : opened
  if (thread === null) throw new Error(`Expected a row of the thread ${threadId}, found none.`)
  // The row already has a place in the step that queued the tool; the call belongs to the step that runs it.
  if (input.queued && holder.placed && (row.run !== run || row.step !== step))
    await adoptToolCall(tx, { threadId, callId, run, step, side })
  return { kind: 'entered', thread, row, holder, found, opening: placed?.events ?? [] }
}

interface SeenCall<Answer> {
  readonly found: Pick<Answered<Answer>, 'kind' | 'answer'> | Pick<Unfinished, 'kind'>
  readonly row: Pick<ToolCallRecord, 'status' | 'run' | 'step'> | null
}

/**
 * The answer of a call that must not run (T4): the recorded answer, or only the outcome of its row if a run was closed
 * before the call began. Null: the call may run.
 */
export function answerOfCall<Answer extends { readonly type: string }>(
  { queued, run, step }: Pick<HeldInput, 'queued' | 'run' | 'step'>,
  { found, row }: SeenCall<Answer>,
): Answer | ResultAnswer | null {
  const answer = found.kind === 'answered' ? found.answer : null
  if (row === null || row.status === 'open') return answer
  // A finished queued call must not request or wait again. Another step that names it gets only the outcome, while a
  // retry or a reset of the step that ran it also gets the operations of the call (T9).
  const isOfOtherStep = queued && (answer?.type !== 'result' || row.run !== run || row.step !== step)
  return answer === null || isOfOtherStep
    ? { type: 'result', outcome: row.status, storedNothing: true }
    : answer
}
