/**
 * What follows where a call does not fit into a budget: a person is asked, or the run ends.
 * Owns: the request to raise a limit, what its answer means, and the end of the run.
 * Does not own: whether the call fits (`charge.ts`), and the new limit, which `respond` writes with the answer.
 * Invariants:
 * - A call asks once for each answer: a retry of its activity finds the request that it has made.
 * - A bare update from Temporal's command line raises the limit as an approval without a number does, and names nobody: it cannot
 *   answer where the budget says who may.
 */
import { raiseLimits } from '../../policy/budget.js'
import { isRestricted } from '../../policy/approval.js'
import { budgetDetailOf, raisedBy } from '../../policy/budget-request.js'
import type { BudgetDetail } from '../../policy/budget-request.js'
import { exceededText } from '../../policy/budget-text.js'
import type { EndAnswer, PendingAnswer, RequestResponse, WaitAnswer } from '../../protocol/activities.js'
import type { EventScope } from '../../protocol/events.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { toMillisAfter } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { JsonObject } from '../../protocol/values.js'
import { raiseLimit, readSpending } from '../../store/budgets/spending.js'
import {
  answerRequest,
  findRequest,
  insertRequest,
  listBudgetRequests,
  takeBudgetAnswer,
} from '../../store/calls/requests.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import type { Store, Writer } from '../../store/store.js'
import { appendEvents } from '../../store/events.js'
import { updateRun } from '../../store/threads/runs.js'
import type { OverBudget } from './charge.js'

/** A call that does not begin. */
interface HeldBack {
  readonly threadId: string
  readonly run: number
  /** The id of its operation. */
  readonly operation: string
  /** The tool call; null for a model call of a step. */
  readonly callId: string | null
  readonly scope: EventScope
  readonly now: Micros
}

interface StoppedAtBudget {
  readonly answer: PendingAnswer | EndAnswer | WaitAnswer
  readonly events: readonly Fact[]
}

/** Asks a person, or ends the run, in the transaction of its caller. */
export async function stopAtBudget(tx: Writer, call: HeldBack, over: OverBudget): Promise<StoppedAtBudget> {
  const { threadId, run, operation, callId, now, scope } = call
  const asked = await listBudgetRequests(tx, { threadId, operation })
  const newest = asked.at(-1)
  if (newest?.status === 'open') return { answer: pendingAnswer(newest.id), events: [] }
  const { exceeded } = over
  const payload = exceededPayload(over)
  if (!over.asks || (newest?.status === 'answered' && newest.approved !== true)) {
    await updateRun(tx, { threadId, number: run }, { error: exceededText(exceeded) })
    return { answer: ENDED, events: [fact('budget.exceeded', payload, scope)] }
  }
  // A person has raised it since the call was judged: it is judged again.
  if (await isRaised(tx, over)) return { answer: { type: 'wait', until: toMillisAfter(now) }, events: [] }
  const id = `budget_${operation}${asked.length === 0 ? '' : `_${asked.length + 1}`}`
  const detail: BudgetDetail = {
    ...payload,
    ...{ owner: over.owner, beganAt: over.beganAt, run, operation },
    approval: exceeded.limit.approval,
    requester: over.requester,
  }
  await insertRequest(tx, {
    ...{ thread_id: threadId, id, kind: 'budget', call_id: callId, requested_at: now },
    // By which others that ask about the same limit are found.
    digest: `${over.owner} ${payload.period} ${payload.limit}`,
    detail: detail as unknown as JsonObject,
  })
  const events = [
    fact('budget.exceeded', { ...payload, requestId: id }, scope),
    fact('action.required', { requestId: id, kind: 'budget', toolName: null }, scope),
  ]
  return { answer: pendingAnswer(id), events }
}

async function isRaised(
  tx: Writer,
  { exceeded: { period, limit }, owner, beganAt }: OverBudget,
): Promise<boolean> {
  const spending = await readSpending(tx, { owner, period })
  if (spending.beganAt !== beganAt) return true
  return raiseLimits([limit], spending.raised).some(({ most }) => most > limit.most)
}

const ENDED: EndAnswer = { type: 'end', reason: 'budget_exceeded', outcome: 'failed' }

function pendingAnswer(requestId: string): PendingAnswer {
  return { type: 'pending', requestId, kind: 'budget', status: 'waiting_permission', next: 'execute' }
}

function exceededPayload({ exceeded: { scope, period, limit, used, unpriced } }: OverBudget) {
  const { name, most } = limit
  return { scope, period, limit: name, most, used, ...(unpriced !== undefined && { unpriced }) }
}

type Answered = Pick<HeldBack, 'threadId' | 'now' | 'scope'> & {
  readonly response: RequestResponse | null | undefined
  readonly operation: string | null
}

/** What the answer to a request means for the call that waited for it. */
interface TakenAnswer {
  /** Since when the run has waited for a person. */
  readonly waitedSince: Micros
  /** A person does not allow for more: the run ends, whatever fits by now. Null: they do, or were asked about something else. */
  readonly denied: OverBudget | null
}

/**
 * Takes the answer to a request that a call waited for, before the call is charged again. `operation`: of a call that an earlier attempt
 * has begun, whose answer may have come before the workflow knew of the request. Null: it has waited for nobody.
 */
export async function takeAnswer(
  store: Store,
  { threadId, now, scope, response, operation }: Answered,
): Promise<TakenAnswer | null> {
  const request = await store.read(async (db) => {
    if (response != null) return findRequest(db, threadId, response.requestId)
    if (operation === null) return null
    const newest = (await listBudgetRequests(db, { threadId, operation })).at(-1)
    return newest?.status === 'answered' && budgetDetailOf(newest)?.taken !== true ? newest : null
  })
  if (request === null) return null
  const waitedSince = request.requested_at
  if (request.kind !== 'budget') return { waitedSince, denied: null }
  const requestId = request.id
  return store.write(async (tx) => {
    const resolved = await resolve(tx, { requestId, response, threadId, now, scope })
    const isDenied = resolved.status === 'answered' && resolved.approved !== true
    return { waitedSince, denied: isDenied ? deniedBudget(resolved) : null }
  })
}

function deniedBudget(request: PendingRecord): OverBudget | null {
  const detail = budgetDetailOf(request)
  if (detail === null) return null
  const { scope, period, limit: name, most, used, owner, beganAt, approval, requester } = detail
  const limit = { name, most, onExceeded: 'ask', warnAt: 1, tellModel: false, approval } as const
  return { exceeded: { scope, period, limit, used }, owner, beganAt, requester, asks: false }
}

async function resolve(
  tx: Writer,
  { threadId, requestId, response, now, scope }: Omit<Answered, 'operation'> & { readonly requestId: string },
): Promise<PendingRecord> {
  const before = await findRequest(tx, threadId, requestId)
  if (before?.status === 'open' && response?.approved !== undefined)
    await answerBarely(tx, before, { approved: response.approved, now })
  const { taken, request } = await takeBudgetAnswer(tx, { threadId, id: requestId })
  // An earlier attempt has told of it.
  if (!taken) return request
  const { approved, answered_by: by } = request
  const decision = approved === true ? 'approved' : 'denied'
  const resolved = fact('action.resolved', { requestId, kind: 'budget', decision, by }, scope)
  const raised = approved === true ? [fact('budget.raised', { requestId, by }, scope)] : []
  await appendEvents(tx, { threadId, events: [resolved, ...raised], now })
  return request
}

/** Stores a decision that only an update carried. */
async function answerBarely(
  tx: Writer,
  request: PendingRecord,
  { approved, now }: { readonly approved: boolean; readonly now: Micros },
): Promise<void> {
  const detail = budgetDetailOf(request)
  if (detail === null || isRestricted(detail.approval)) return
  const { thread_id: threadId, id } = request
  await answerRequest(tx, { threadId, id, approved, by: COMMAND_LINE, now })
  if (!approved) return
  const { owner, period, beganAt, limit: name, approval } = detail
  await raiseLimit(tx, { owner, period, beganAt, name, most: raisedBy(detail), approval })
}

/** The recorded decider of a bare update from Temporal's command line. */
const COMMAND_LINE = 'cli'
