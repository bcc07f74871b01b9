/**
 * The charge of a call: what it takes from the budgets of its thread, before it begins.
 * Owns: the transaction that ends the charge of the thread's call before, judges this one, and writes its own; what this process knows of
 * the threads that it has charged.
 * Does not own: the judgement (`policy/budget-judgement.ts`), the sums (`count-call.ts`), the rows (`store/budgets`), and what follows
 * where a call does not fit (`over-budget.ts`).
 * Invariants:
 * - Where the store locks rows, it is a short transaction of its own, never part of one of the thread: rows of an account or a tree would
 *   make those conflict. Elsewhere it is part of the transaction that begins the call.
 * - The same call is charged once, however often it is attempted; an attempt that was given up charges nothing.
 * - That a call does not fit, or that a call of a tool was charged before, is found by the rows as they are stored, never by remembered ones.
 */
import { randomUUID } from 'node:crypto'
import { NOTHING_HELD } from '../../policy/budget-judgement.js'
import type { Exceeded, Held, ModelNeed } from '../../policy/budget-judgement.js'
import { leftText } from '../../policy/budget-text.js'
import { fact } from '../../protocol/facts.js'
import { failure } from '../../protocol/failures.js'
import type { Micros } from '../../protocol/time.js'
import { findCharge, readRequest, settled, usedBy } from '../../store/budgets/charges.js'
import type { LoggedRequest } from '../../store/budgets/charges.js'
import {
  isNothing,
  lockSpendings,
  rememberedSpendings,
  replaceRemembered,
  writeSpendings,
} from '../../store/budgets/spending.js'
import type { Charge, LockedSubject, Spending } from '../../store/budgets/spending.js'
import { readPeople, readSubjects, threadSubject } from '../../store/budgets/subjects.js'
import type { BudgetSources, BudgetSubject } from '../../store/budgets/subjects.js'
import { appendEvents } from '../../store/events.js'
import { keepUpTo } from '../../store/budgets/keep-up-to.js'
import type { Store, Writer } from '../../store/store.js'
import { countBeside, countModel, countTool, endedIn, isUnsent, ownRow, rowOf } from './count-call.js'
import type { ChargedCall, ChargedModel, Counted } from './count-call.js'

type Charged =
  | {
      readonly kind: 'charged'
      /** Of the charge of a request to a model; empty: none was made. */
      readonly id: string
      /** The most tokens of the answer; null: no budget bounds it further. */
      readonly maxOutputTokens: number | null
      /** A line for the model about what is left. */
      readonly told: string | null
    }
  /** It will fit if requests of other threads use less than they hold. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'over'; readonly over: OverBudget }

/** A call that does not fit, and who is concerned. */
export interface OverBudget {
  readonly exceeded: Exceeded
  /** The subject whose limit it is, and its period. */
  readonly owner: string
  readonly beganAt: Micros
  /** The user for whom the thread works. */
  readonly requester: string | null
  /** A person may be asked. */
  readonly asks: boolean
}

const FREE: Charged = { kind: 'charged', id: '', maxOutputTokens: null, told: null }

/** Threads that this process has charged, and whether their budgets limit tools or time. */
const chargedThreads = new Map<string, boolean>()

/** The newest request of each thread that has ended in this process, and the id of its charge. */
const endedRequests = new Map<string, { readonly chargeId: string; readonly request: LoggedRequest }>()

/** A few thousand threads are kept. */
const MOST_KEPT = 5_000

/** Whether the newest charge of the thread by this process has found that tools or time are limited; undefined: it has made none. */
export function foundToolLimits(threadId: string): boolean | undefined {
  return chargedThreads.get(threadId)
}

/** Whether this process has charged a call of the thread, so that the end of its run looks for it. */
export function mayHold(threadId: string): boolean {
  return chargedThreads.has(threadId)
}

/** What a request has used whose answer is committed, by the id of its charge: the next charge of its thread need not read it. */
export function rememberRequest(threadId: string, chargeId: string, request: LoggedRequest): void {
  keepUpTo(MOST_KEPT, endedRequests, threadId, { chargeId, request })
}

interface BesideCall extends Pick<ChargedCall, 'threadId' | 'run' | 'now' | 'scope'> {
  readonly need: ModelNeed
}

/** Counts a request beside the call that the thread has in flight; it holds nothing. Returns the limit that it does not fit into. */
export async function chargeBeside(
  store: Store,
  call: BesideCall,
  sources: BudgetSources,
): Promise<Exceeded | null> {
  return store.writeLocked(async (tx) => {
    const { all: subjects } = await readSubjects(tx, call, sources)
    const rows = await lockSpendings(tx, placesOf(call, subjects))
    const counted = countBeside(call.need, { subjects, rows })
    writeSpendings(tx, counted.rows)
    await warn(tx, call, counted)
    return counted.judgement.kind === 'exceeded' ? counted.judgement.exceeded : null
  })
}

interface UsedBeside extends Pick<ChargedCall, 'threadId' | 'run'> {
  readonly used: Held
}

/** Adds what a request beside the call in flight has used. */
export async function addUsed(
  store: Store,
  { used, ...run }: UsedBeside,
  sources: BudgetSources,
): Promise<void> {
  await store.writeLocked(async (tx) => {
    const { all: subjects } = await readSubjects(tx, run, sources)
    const rows = await lockSpendings(tx, placesOf(run, subjects))
    writeSpendings(
      tx,
      rows.map((row) => settled(row, NOTHING_HELD, used)),
    )
  })
}

/** The charge of a call, in the transaction of its caller. */
export async function charge(tx: Writer, call: ChargedCall, sources: BudgetSources): Promise<Charged> {
  const { threadId, need } = call
  const { all, ofTools } = await readSubjects(tx, call, sources)
  const limitsTools = ofTools.length > 0
  keepUpTo(MOST_KEPT, chargedThreads, threadId, limitsTools)
  if (need.kind === 'tool') return limitsTools ? chargeTool(tx, call, ofTools) : FREE
  if (all.length === 0 && (await findCharge(tx, threadId)) === null) return FREE
  return chargeModel(tx, { ...call, need }, all)
}

async function chargeModel(
  tx: Writer,
  call: ChargedModel,
  subjects: readonly BudgetSubject[],
): Promise<Charged> {
  const id = randomUUID()
  const places = placesOf(call, subjects)
  const known = await chargeRemembered(tx, places, (rows) => {
    const own = ownRow(rows)
    const request = requestOf(call, own)
    const { charge: before } = own
    if (isLater(before, call) || request === 'stored' || othersOf(before, places).length > 0) return null
    return countModel(call, { subjects, rows }, { id, used: usedBy(request, own.held) })
  })
  if (known !== null) return outcomeOf(tx, call, { subjects, counted: known })
  const rows = await lockSpendings(tx, places)
  const own = ownRow(rows)
  const before = currentCharge(own, call)
  const request = requestOf(call, own)
  const logged = request === 'stored' ? await readRequest(tx, call.threadId, before) : request
  const used = usedBy(logged, own.held)
  const counted = countModel(call, { subjects, rows }, { id, used })
  const others = await lockSpendings(tx, othersOf(before, places))
  writeSpendings(tx, [...counted.rows, ...endedIn(others, { own, call, used })])
  return outcomeOf(tx, call, { subjects, counted })
}

/** The request of the charge before, if it holds anything and was sent; `stored`: only the row of its operation tells what it has used. */
function requestOf(
  call: ChargedModel,
  { charge: known, held }: Spending,
): LoggedRequest | 'stored' | undefined {
  if (known === null || isNothing(held) || isUnsent(call, known)) return undefined
  if (known.operation === call.operation) return call.previous
  const ended = endedRequests.get(call.threadId)
  return ended?.chargeId === known.id ? ended.request : 'stored'
}

/** Subjects of a charge in which the present call is not counted: those that have no budget any more, and those of a run that is over. */
function othersOf(known: Charge | null, places: readonly LockedSubject[]): readonly LockedSubject[] {
  if (known === null) return []
  const isPlace = ({ owner, period }: Charge['owners'][number]): boolean =>
    places.some((place) => place.owner === owner && place.period === period)
  return known.owners
    .filter((one) => !isPlace(one))
    .map(({ owner, period }) => ({ owner, period, threadId: null }))
}

async function chargeTool(
  tx: Writer,
  call: ChargedCall,
  subjects: readonly BudgetSubject[],
): Promise<Charged> {
  const { operation, now, waitedSince } = call
  const places = placesOf(call, subjects)
  const known = await chargeRemembered(tx, places, (rows) => {
    const { charge: before } = ownRow(rows)
    return isLater(before, call) || before?.tool === operation ? null : countTool(call, { subjects, rows })
  })
  if (known !== null) return outcomeOf(tx, call, { subjects, counted: known })
  const rows = await lockSpendings(tx, places)
  const own = ownRow(rows)
  const before = currentCharge(own, call)
  if (before?.tool === operation) {
    // Its attempt died, or it goes on once a person has answered.
    const waited = waitedSince === undefined ? 0 : Math.max(0, now - waitedSince)
    if (waited > 0) writeSpendings(tx, [{ ...own, charge: { ...before, at: before.at + waited } }])
    return FREE
  }
  const counted = countTool(call, { subjects, rows })
  writeSpendings(tx, counted.rows)
  return outcomeOf(tx, call, { subjects, counted })
}

/**
 * The rows in which a call is counted, in the order in which they are locked: that of its thread, and then those of the other subjects, from
 * the widest to the narrowest.
 */
function placesOf(
  { threadId }: Pick<ChargedCall, 'threadId'>,
  subjects: readonly BudgetSubject[],
): readonly LockedSubject[] {
  return [threadSubject(threadId), ...subjects.filter(({ scope }) => scope !== 'thread')]
}

/** Charges a call by the rows that this process remembers, which nearly always are those that are stored. Null: nothing was written. */
async function chargeRemembered(
  tx: Writer,
  places: readonly LockedSubject[],
  count: (rows: readonly Spending[]) => Counted | null,
): Promise<Counted | null> {
  const known = rememberedSpendings(tx, places)
  if (known === null) return null
  const counted = count(known.map(({ row }) => row))
  if (counted?.judgement.kind !== 'fits') return null
  return (await replaceRemembered(tx, known, counted.rows)) ? counted : null
}

/** Whether a newer attempt has made the charge. */
function isLater(known: Charge | null, { scheduledAt }: ChargedCall): boolean {
  return known !== null && known.scheduledAt > scheduledAt
}

/** The charge of the thread's call before, or of this one. @throws `Operation.Stale` for an attempt that was given up */
function currentCharge({ charge: known }: Spending, call: ChargedCall): Charge | null {
  if (isLater(known, call)) throw failure('Operation.Stale')
  return known
}

async function warn(
  tx: Writer,
  { threadId, scope, now }: Pick<ChargedCall, 'threadId' | 'scope' | 'now'>,
  { warnings }: Counted,
): Promise<void> {
  if (warnings.length === 0) return
  const events = warnings.map((payload) => fact('budget.warning', payload, scope))
  await appendEvents(tx, { threadId, events, now })
}

interface Outcome {
  readonly subjects: readonly BudgetSubject[]
  readonly counted: Counted
}

async function outcomeOf(tx: Writer, call: ChargedCall, { subjects, counted }: Outcome): Promise<Charged> {
  await warn(tx, call, counted)
  const { judgement, accounts, rows } = counted
  if (judgement.kind === 'waits') return { kind: 'waits' }
  if (judgement.kind === 'fits')
    return {
      kind: 'charged',
      id: ownRow(rows).charge?.id ?? '',
      maxOutputTokens: judgement.maxOutputTokens,
      told: leftText(accounts),
    }
  const { exceeded } = judgement
  const { scope, period, limit, unpriced } = exceeded
  const subject = subjects.find((one) => one.scope === scope && one.period === period)
  const { owner, beganAt } = subject === undefined ? { owner: '', beganAt: 0 } : rowOf(rows, subject)
  const { requester, isInteractive } = await readPeople(tx, call.threadId)
  const asks = limit.onExceeded === 'ask' && unpriced === undefined && isInteractive
  return { kind: 'over', over: { exceeded, owner, beganAt, requester, asks } }
}
