/**
 * The charge of a call: what it takes from the budgets of its thread, before it begins.
 * Owns: the transaction that ends the charge of the thread's call before, judges this one, and writes its own; warnings.
 * Does not own: the judgement (`policy/budget-judgement.ts`), the rows (`store/budgets`), and what follows where a call does not fit
 * (`over-budget.ts`).
 * Invariants:
 * - Where the store locks rows, it is a short transaction of its own, never part of one of the thread: rows of an account or a tree would
 *   make those conflict. Elsewhere it is part of the transaction that begins the call.
 * - The same call is charged once, however often it is attempted; an attempt that was given up charges nothing.
 */
import { NOTHING_HELD, judgeBudgets, limitTools, nearLimits, usedOf } from '../../policy/budget-judgement.js'
import type {
  Account,
  BudgetJudgement,
  Exceeded,
  Held,
  ModelNeed,
  Need,
  Spent,
} from '../../policy/budget-judgement.js'
import { lowestOf, raiseLimits } from '../../policy/budget.js'
import { leftText } from '../../policy/budget-text.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { failure } from '../../protocol/failures.js'
import type { EventScope } from '../../protocol/events.js'
import { toMillis } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { findCharge, isCharged, settled, usageOfCharge } from '../../store/budgets/charges.js'
import type { LoggedRequest } from '../../store/budgets/charges.js'
import { lockSpendings, writeSpendings } from '../../store/budgets/spending.js'
import type { Charge, Spending } from '../../store/budgets/spending.js'
import { readPeople, readSubjects, threadSubject } from '../../store/budgets/subjects.js'
import type { BudgetSources, BudgetSubject } from '../../store/budgets/subjects.js'
import { appendEvents } from '../../store/events.js'
import type { Store, Writer } from '../../store/store.js'

/** A call that is about to begin. */
export interface ChargedCall {
  readonly threadId: string
  readonly run: number
  /** The id of its operation. */
  readonly operation: string
  /** Of the request within a model call, from 1; 0 for a tool. */
  readonly number: number
  readonly need: Need
  /** The request of the same call before this one, if there was one. */
  readonly previous?: LoggedRequest | undefined
  /** A person has answered since the last charge, for whom the run waited from then on. */
  readonly waitedSince?: Micros | undefined
  readonly scheduledAt: Micros
  readonly now: Micros
  readonly scope: EventScope
}

type Charged =
  | {
      readonly kind: 'charged'
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

const FREE: Charged = { kind: 'charged', maxOutputTokens: null, told: null }

/** Threads that this process has charged, and whether their budgets limit tools or time; a few thousand of them are kept. */
const charged = new Map<string, boolean>()
const MOST_KEPT = 5_000

/** Whether the newest charge of the thread by this process has found that tools or time are limited; undefined: it has made none. */
export function foundToolLimits(threadId: string): boolean | undefined {
  return charged.get(threadId)
}

/** Whether this process has charged a call of the thread, so that the end of its run looks for it. */
export function mayHold(threadId: string): boolean {
  return charged.has(threadId)
}

type BesideCall = Pick<ChargedCall, 'threadId' | 'run' | 'need' | 'now' | 'scope'>

/** Counts a request beside the call that the thread has in flight; it holds nothing. Returns the limit that it does not fit into. */
export async function chargeBeside(
  store: Store,
  call: BesideCall,
  sources: BudgetSources,
): Promise<Exceeded | null> {
  return store.writeLocked(async (tx) => {
    const subjects = await readSubjects(tx, call, sources)
    const rows = await lockRows(tx, call.threadId, subjects)
    const judgement = judgeBudgets(call.need, accountsOf(subjects, rows))
    const isOver = judgement.kind === 'exceeded'
    // It waits for nobody: one that fits only once others use less than they hold is sent, and so it is counted.
    await writeRows(tx, call, { subjects, rows, judgement, added: isOver ? NOTHING : spentBy(call.need) })
    return isOver ? judgement.exceeded : null
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
    const rows = await lockRows(tx, run.threadId, await readSubjects(tx, run, sources))
    const changed = [...rows.values()].map((row) => settled(row, NOTHING_HELD, used))
    writeSpendings(tx, changed)
  })
}

/** The charge of a call, in the transaction of its caller. */
export async function charge(tx: Writer, call: ChargedCall, sources: BudgetSources): Promise<Charged> {
  const { threadId } = call
  const subjects = await readSubjects(tx, call, sources)
  if (charged.size >= MOST_KEPT) charged.clear()
  const limited = subjects.filter(({ limits }) => limitTools(limits))
  charged.set(threadId, limited.length > 0)
  if (call.need.kind === 'tool') return limited.length === 0 ? FREE : countTool(tx, call, limited)
  if (subjects.length === 0 && (await findCharge(tx, threadId)) === null) return FREE
  return chargeModel(tx, { ...call, need: call.need }, subjects)
}

interface ChargedModel extends ChargedCall {
  readonly need: ModelNeed
}

async function chargeModel(
  tx: Writer,
  call: ChargedModel,
  subjects: readonly BudgetSubject[],
): Promise<Charged> {
  const { threadId, run, operation, number, scheduledAt, now } = call
  const rows = await lockRows(tx, threadId, subjects)
  const known = currentCharge(rows, call)
  // It is of this very request, which was not sent: a provider wanted a pause, or the attempt died.
  const isUnsent = known?.operation === operation && known.number === number
  const others = known === null ? [] : await endCharge(tx, call, { rows, known, isUnsent })
  addRuntime(rows, runtimeSince(call, known))
  // The first request of a call is that of its step.
  const need = { ...call.need, isStep: call.need.isStep && number === 1 }
  const accounts = accountsOf(subjects, rows)
  const judgement = judgeBudgets(need, accounts)
  const fits = judgement.kind === 'fits'
  if (fits) {
    const owners = [...rows.values()].map(({ owner, period, beganAt }) => ({ owner, period, beganAt }))
    const tool = known?.tool ?? ''
    setCharge(rows, threadId, { operation, tool, run, number, scheduledAt, at: now, owners })
  } else if (known !== null)
    setCharge(rows, threadId, { ...known, run, at: now, operation: isUnsent ? NOT_CHARGED : known.operation })
  const taken = fits ? { added: spentBy(need), held: judgement.held } : { added: NOTHING }
  await writeRows(tx, call, { subjects, rows, others, judgement, ...taken })
  return outcomeOf(tx, judgement, { threadId, subjects, rows, accounts })
}

/**
 * Counts a call of a tool in the subjects that limit tools or time. It holds nothing, and leaves what the model call before it holds until
 * the next one.
 */
async function countTool(
  tx: Writer,
  call: ChargedCall,
  subjects: readonly BudgetSubject[],
): Promise<Charged> {
  const { threadId, run, operation, scheduledAt, now, waitedSince } = call
  const rows = await lockRows(tx, threadId, subjects)
  const known = currentCharge(rows, call)
  if (known?.tool === operation) {
    // Its attempt died, or it goes on once a person has answered.
    const waited = waitedSince === undefined ? 0 : Math.max(0, now - waitedSince)
    const charge = { ...known, at: known.at + waited }
    if (waited > 0) writeSpendings(tx, [{ ...ownRow(rows, threadId), charge }])
    return FREE
  }
  addRuntime(rows, runtimeSince(call, known))
  const accounts = accountsOf(subjects, rows)
  const judgement = judgeBudgets(call.need, accounts)
  const before = known ?? { operation: '', tool: '', number: 0, owners: [] }
  const fits = judgement.kind === 'fits'
  setCharge(rows, threadId, { ...before, tool: fits ? operation : before.tool, run, scheduledAt, at: now })
  await writeRows(tx, call, { subjects, rows, judgement, added: fits ? spentBy(call.need) : NOTHING })
  return outcomeOf(tx, judgement, { threadId, subjects, rows, accounts })
}

/** The locked rows that a call is counted in, as its transaction changes them: that of its thread, and those of its subjects. */
type Rows = Map<string, Spending>

/** Locks the row of the thread first, and then those of the subjects, from the widest to the narrowest. */
async function lockRows(tx: Writer, threadId: string, subjects: readonly BudgetSubject[]): Promise<Rows> {
  const keys = new Map([threadSubject(threadId), ...subjects].map((key) => [keyOf(key), key]))
  const locked = await lockSpendings(tx, [...keys.values()])
  return new Map(locked.map((row) => [keyOf(row), row]))
}

/** The row of the thread, which has its charge. */
function ownRow(rows: Rows, threadId: string): Spending {
  return rowOf(rows, threadSubject(threadId))
}

/** The charge of the thread's call before, or of this one. @throws `Operation.Stale` for an attempt that was given up */
function currentCharge(rows: Rows, { threadId, scheduledAt }: ChargedCall): Charge | null {
  const { charge: known } = ownRow(rows, threadId)
  if (known !== null && known.scheduledAt > scheduledAt) throw failure('Operation.Stale')
  return known
}

function setCharge(rows: Rows, threadId: string, charge: Charge): void {
  const own = ownRow(rows, threadId)
  rows.set(keyOf(own), { ...own, charge })
}

interface Ending {
  readonly rows: Rows
  readonly known: Charge
  /** The request is taken back whole. */
  readonly isUnsent: boolean
}

/**
 * Puts what the call before has really used in the place of what it holds. Returns the rows in which the present call is not counted: of
 * subjects that have no budget any more, and of a run that is over.
 */
async function endCharge(
  tx: Writer,
  call: ChargedModel,
  { rows, known, isUnsent }: Ending,
): Promise<readonly Spending[]> {
  const { threadId, operation, previous } = call
  const own = ownRow(rows, threadId)
  const request = known.operation === operation ? previous : 'stored'
  const used = isUnsent ? NOTHING_HELD : await usageOfCharge(tx, { ...own, threadId }, request)
  const taken = isUnsent ? takenBack(call) : NOTHING
  const end = (row: Spending): Spending => {
    if (!isCharged(row, known)) return row
    const ended = settled(row, own.held, used)
    return { ...ended, spent: addSpent(ended.spent, taken) }
  }
  for (const [key, row] of rows) rows.set(key, end(row))
  const others = known.owners.filter((key) => !rows.has(keyOf(key)))
  const locked = await lockSpendings(
    tx,
    others.map(({ owner, period }) => ({ owner, period, threadId: null })),
  )
  return locked.map(end)
}

interface Taken {
  readonly subjects: readonly BudgetSubject[]
  readonly rows: Rows
  /** Rows that are only written. */
  readonly others?: readonly Spending[]
  readonly judgement: BudgetJudgement
  readonly added: typeof NOTHING
  /** @default nothing */
  readonly held?: Held
}

/** Writes the locked rows with what a call takes from them, and the warnings that are due. */
async function writeRows(
  tx: Writer,
  { threadId, scope, now }: BesideCall,
  { subjects, rows, others = [], judgement, added, held = NOTHING_HELD }: Taken,
): Promise<void> {
  for (const [key, row] of rows)
    rows.set(key, { ...row, spent: addSpent(row.spent, added), held: addHeld(row.held, held) })
  const warnings: Fact[] = []
  for (const subject of subjects) {
    const row = rowOf(rows, subject)
    const warned = warn(subject, row, judgement)
    warnings.push(...warned.facts.map((payload) => fact('budget.warning', payload, scope)))
    rows.set(keyOf(subject), { ...row, warned: warned.names, limits: limitsIn(subject, row) })
  }
  writeSpendings(tx, [...rows.values(), ...others])
  if (warnings.length > 0) await appendEvents(tx, { threadId, events: warnings, now })
}

interface Judged {
  readonly threadId: string
  readonly subjects: readonly BudgetSubject[]
  readonly rows: Rows
  /** As they were before the call. */
  readonly accounts: readonly Account[]
}

async function outcomeOf(
  tx: Writer,
  judgement: BudgetJudgement,
  { threadId, subjects, rows, accounts }: Judged,
): Promise<Charged> {
  if (judgement.kind === 'waits') return { kind: 'waits' }
  if (judgement.kind === 'fits')
    return {
      kind: 'charged',
      maxOutputTokens: judgement.maxOutputTokens,
      told: leftText(accounts),
    }
  const { exceeded } = judgement
  const { scope, period, limit, unpriced } = exceeded
  const subject = subjects.find((one) => one.scope === scope && one.period === period)
  const { owner = '', beganAt = 0 } = (subject && rows.get(keyOf(subject))) ?? {}
  const { requester, isInteractive } = await readPeople(tx, threadId)
  const asks = limit.onExceeded === 'ask' && unpriced === undefined && isInteractive
  return { kind: 'over', over: { exceeded, owner, beganAt, requester, asks } }
}

/** The charge of a request that was taken back. */
const NOT_CHARGED = '(none)'

function addRuntime(rows: Rows, runtime: number): void {
  for (const [key, row] of rows)
    rows.set(key, { ...row, spent: { ...row.spent, runtime: row.spent.runtime + runtime } })
}

/** Milliseconds of work since the last charge of the same run. */
function runtimeSince({ run, now, waitedSince }: ChargedCall, known: Charge | null): number {
  if (known === null || known.run !== run) return 0
  return toMillis(Math.max(0, (waitedSince ?? now) - known.at))
}

type Key = Pick<Spending, 'owner' | 'period'>

function keyOf({ owner, period }: Key): string {
  return `${owner} ${period}`
}

function rowOf(rows: ReadonlyMap<string, Spending>, key: Key): Spending {
  const row = rows.get(keyOf(key))
  if (row === undefined) throw new Error(`Expected the locked row of ${key.owner}, found none.`)
  return row
}

function accountsOf(subjects: readonly BudgetSubject[], rows: Rows): readonly Account[] {
  return subjects.map((subject) => {
    const { scope, period, limits } = subject
    const row = rowOf(rows, subject)
    return { scope, period, limits: raiseLimits(limits, row.raised), spent: row.spent, held: row.held }
  })
}

/** What the first charge of an unsent request has counted. */
function takenBack({ need, number }: ChargedModel): typeof NOTHING {
  const isStep = need.isStep && number === 1
  return { ...NOTHING, steps: isStep ? -1 : 0, modelCalls: -1 }
}

const NOTHING: Pick<Spent, 'steps' | 'modelCalls' | 'toolCalls'> = { steps: 0, modelCalls: 0, toolCalls: 0 }

function spentBy(need: Need): typeof NOTHING {
  if (need.kind === 'tool') return { ...NOTHING, toolCalls: 1 }
  return { steps: need.isStep ? 1 : 0, modelCalls: 1, toolCalls: 0 }
}

function addSpent(spent: Spent, added: typeof NOTHING): Spent {
  return {
    ...spent,
    steps: spent.steps + added.steps,
    modelCalls: spent.modelCalls + added.modelCalls,
    toolCalls: spent.toolCalls + added.toolCalls,
  }
}

function addHeld(held: Held, added: Held): Held {
  return {
    inputTokens: held.inputTokens + added.inputTokens,
    outputTokens: held.outputTokens + added.outputTokens,
    cost: held.cost + added.cost,
  }
}

/** As they are read by people, who do not know the code of the worker. */
function limitsIn({ limits }: BudgetSubject, row: Spending): Spending['limits'] {
  return lowestOf(raiseLimits(limits, row.raised))
}

interface Warned {
  readonly names: Spending['warned']
  readonly facts: readonly {
    readonly scope: BudgetSubject['scope']
    readonly period: BudgetSubject['period']
    readonly limit: Spending['warned'][number]
    readonly most: number
    readonly used: number
  }[]
}

/** The limits of which a warning is due, once in their period, and before a call does not fit. */
function warn({ scope, period, limits }: BudgetSubject, row: Spending, judgement: BudgetJudgement): Warned {
  const raised = raiseLimits(limits, row.raised)
  const reached = nearLimits({ limits: raised, spent: row.spent }).map(({ name }) => name)
  const over = judgement.kind === 'exceeded' ? judgement.exceeded : null
  if (over?.scope === scope && over.period === period) reached.push(over.limit.name)
  const near = raised.filter(
    ({ name }, index) =>
      reached.includes(name) &&
      !row.warned.includes(name) &&
      raised.findIndex((one) => one.name === name) === index,
  )
  const facts = near.map(({ name, most }) => {
    return { scope, period, limit: name, most, used: usedOf(row.spent, name) }
  })
  return { names: [...row.warned, ...near.map(({ name }) => name)], facts }
}
