/**
 * The charge of a call: what it takes from the budgets of its thread, before it begins.
 * Owns: the statements that end the charge of the thread's call before, judge this one, and write its own; warnings.
 * Does not own: the judgement (`policy/budget-judgement.ts`), the rows (`store/budgets`), and what follows where a call does not fit
 * (`over-budget.ts`).
 * Invariants:
 * - Where the store locks rows, it is a short transaction of its own, never part of one of the thread: rows of an account or a tree would
 *   make those conflict. Elsewhere it is part of the transaction that begins the call.
 * - The same call is charged once, however often it is attempted; an attempt that was given up charges nothing.
 */
import { NOTHING_HELD, judgeBudgets, limitTools, nearLimits, usedOf } from '../../policy/budget-judgement.js'
import type { Account, BudgetJudgement, Exceeded, Held, Need, Spent } from '../../policy/budget-judgement.js'
import { lowestOf, raiseLimits } from '../../policy/budget.js'
import { leftText } from '../../policy/budget-text.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { failure } from '../../protocol/failures.js'
import type { EventScope } from '../../protocol/events.js'
import { toMillis } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import {
  findCharge,
  lockCharge,
  NO_CHARGE,
  putCharge,
  settled,
  usageOfCharge,
  usedBy,
} from '../../store/budgets/charges.js'
import type { Charge, LoggedRequest } from '../../store/budgets/charges.js'
import { lockSpendings, writeSpendings } from '../../store/budgets/spending.js'
import type { Spending } from '../../store/budgets/spending.js'
import { readChargedSubjects } from '../../store/budgets/subjects.js'
import type { BudgetSubject, DefinedBudgets } from '../../store/budgets/subjects.js'
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
  defined: DefinedBudgets,
): Promise<Exceeded | null> {
  return store.writeLocked(async (tx) => {
    const { subjects } = await readChargedSubjects(tx, call, defined)
    const rows = await lockRows(tx, { call, subjects, known: null, runtime: 0 })
    const judgement = judgeBudgets(
      call.need,
      subjects.map((subject) => accountOf(subject, rows)),
    )
    const isOver = judgement.kind === 'exceeded'
    const taken = { added: isOver ? NOTHING : spentBy(call.need), held: NOTHING_HELD, judgement }
    await writeRows(tx, call, { subjects, rows, ...taken })
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
  defined: DefinedBudgets,
): Promise<void> {
  await store.writeLocked(async (tx) => {
    const { subjects } = await readChargedSubjects(tx, run, defined)
    const rows = await lockSpendings(tx, subjects)
    writeSpendings(
      tx,
      rows.map((row) => settled(row, NOTHING_HELD, used)),
    )
  })
}

/** The charge of a call, in the transaction of its caller. */
export async function charge(tx: Writer, call: ChargedCall, defined: DefinedBudgets): Promise<Charged> {
  const { threadId, run, operation, number, scheduledAt, need: asked } = call
  const budgets = await readChargedSubjects(tx, { threadId, run }, defined)
  const { subjects } = budgets
  if (charged.size >= MOST_KEPT) charged.clear()
  charged.set(
    threadId,
    subjects.some(({ limits }) => limitTools(limits)),
  )
  if (asked.kind === 'tool') return countTool(tx, call, budgets)
  if (subjects.length === 0 && (await findCharge(tx, threadId)) === null) return FREE
  const known = await lockCharge(tx, threadId)
  if (known !== null && known.scheduledAt > scheduledAt) throw failure('Operation.Stale')
  const isCharged = known?.operation === operation && known.number === number
  const rows = await lockRows(tx, {
    ...{ call, subjects, known, isUnsent: isCharged },
    runtime: runtimeSince(call, known),
  })
  const accounts = subjects.map((subject) => accountOf(subject, rows))
  // The first request of a call is that of its step.
  const need = { ...asked, isStep: asked.isStep && number === 1 }
  const judgement = judgeBudgets(need, accounts)
  const added = judgement.kind === 'fits' ? spentBy(need) : NOTHING
  const held = judgement.kind === 'fits' ? judgement.held : NOTHING_HELD
  await writeRows(tx, call, { subjects, rows, added, held, judgement })
  const owners = subjects.flatMap((subject) => rows.get(keyOf(subject)) ?? [])
  if (judgement.kind === 'fits')
    await putCharge(tx, {
      ...{ threadId, operation, tool: known?.tool ?? '', run, number, scheduledAt, at: call.now },
      ...{ owners, held },
    })
  else if (known !== null)
    await putCharge(tx, {
      ...known,
      ...{ run, at: call.now, held: NOTHING_HELD, operation: isCharged ? NOT_CHARGED : known.operation },
    })
  return outcomeOf(judgement, { ...budgets, accounts, rows })
}

/**
 * Counts a call of a tool in the subjects that limit tools or time. It holds nothing, and leaves what the model call before it holds until
 * the next one.
 */
async function countTool(tx: Writer, call: ChargedCall, budgets: BudgetsOfRun): Promise<Charged> {
  const { threadId, run, operation, scheduledAt, now, waitedSince, need } = call
  const subjects = budgets.subjects.filter(({ limits }) => limitTools(limits))
  if (subjects.length === 0) return FREE
  const known = await lockCharge(tx, threadId)
  if (known !== null && known.scheduledAt > scheduledAt) throw failure('Operation.Stale')
  if (known?.tool === operation) {
    // Its attempt died, or it goes on once a person has answered.
    const waited = waitedSince === undefined ? 0 : Math.max(0, now - waitedSince)
    if (waited > 0) await putCharge(tx, { ...known, at: known.at + waited })
    return FREE
  }
  const rows = await lockRows(tx, { call, subjects, known: null, runtime: runtimeSince(call, known) })
  const accounts = subjects.map((subject) => accountOf(subject, rows))
  const judgement = judgeBudgets(need, accounts)
  const fits = judgement.kind === 'fits'
  const added = fits ? spentBy(need) : NOTHING
  await writeRows(tx, call, { subjects, rows, added, held: NOTHING_HELD, judgement })
  const before = known ?? { ...NO_CHARGE, threadId }
  await putCharge(tx, { ...before, run, scheduledAt, at: now, ...(fits && { tool: operation }) })
  return outcomeOf(judgement, { ...budgets, accounts, rows })
}

type BudgetsOfRun = Awaited<ReturnType<typeof readChargedSubjects>>

interface Taken {
  readonly subjects: readonly BudgetSubject[]
  readonly rows: Map<string, Spending>
  readonly added: typeof NOTHING
  readonly held: Held
  readonly judgement: BudgetJudgement
}

/** Writes the locked rows with what a call takes from them, and the warnings that are due. */
async function writeRows(
  tx: Writer,
  { threadId, scope, now }: BesideCall,
  { subjects, rows, added, held, judgement }: Taken,
): Promise<void> {
  const warnings: Fact[] = []
  for (const subject of subjects) {
    const row = rows.get(keyOf(subject))
    if (row === undefined) continue
    const current = { ...row, spent: addSpent(row.spent, added), held: addHeld(row.held, held) }
    const warned = warn(subject, current, judgement)
    warnings.push(...warned.facts.map((payload) => fact('budget.warning', payload, scope)))
    rows.set(keyOf(subject), { ...current, warned: warned.names, limits: limitsIn(subject, row) })
  }
  writeSpendings(tx, [...rows.values()])
  if (warnings.length > 0) await appendEvents(tx, { threadId, events: warnings, now })
}

interface Judged {
  readonly accounts: readonly Account[]
  readonly subjects: readonly BudgetSubject[]
  readonly rows: ReadonlyMap<string, Spending>
  readonly requester: string | null
  readonly isInteractive: boolean
}

function outcomeOf(
  judgement: BudgetJudgement,
  { accounts, subjects, rows, requester, isInteractive }: Judged,
): Charged {
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
  const asks = limit.onExceeded === 'ask' && unpriced === undefined && isInteractive
  return { kind: 'over', over: { exceeded, owner, beganAt, requester, asks } }
}

/** The charge of a request that was taken back. */
const NOT_CHARGED = '(none)'

type Locked = NonNullable<Awaited<ReturnType<typeof lockCharge>>>

interface Locking {
  readonly call: BesideCall & Partial<ChargedCall>
  readonly subjects: readonly BudgetSubject[]
  /** The charge that is to end; null: none. */
  readonly known: Locked | null
  /** It is of this very request, which was not sent: a provider wanted a pause, or the attempt died. It is taken back whole. */
  readonly isUnsent?: boolean
  /** Milliseconds of work since the last charge. */
  readonly runtime: number
}

/**
 * Locks the rows of all subjects, from the widest to the narrowest, and puts what the call before has really used in the place of
 * what it holds.
 */
async function lockRows(
  tx: Writer,
  { call, subjects, known, isUnsent = false, runtime }: Locking,
): Promise<Map<string, Spending>> {
  const rows = new Map<string, Spending>()
  const threads = new Map(subjects.map((subject) => [keyOf(subject), subject.threadId]))
  const keys = new Map([...subjects, ...(known?.owners ?? [])].map((key) => [keyOf(key), key]))
  const used = known === null || isUnsent ? NOTHING_HELD : usedByKnown(call, known)
  const taken = isUnsent ? takenBack(call) : NOTHING
  const ordered = [...keys].toSorted(([, one], [, other]) => inLockOrder(one, other))
  const locked = await lockSpendings(
    tx,
    ordered.map(([name, { owner, period }]) => ({ owner, period, threadId: threads.get(name) ?? null })),
  )
  for (const row of locked) {
    const name = keyOf(row)
    const charged = known?.owners.find((one) => keyOf(one) === name)
    const isOfPeriod = charged !== undefined && charged.beganAt === row.beganAt
    const ended = known !== null && isOfPeriod ? settled(row, known.held, used) : row
    const current = isOfPeriod ? { ...ended, spent: addSpent(ended.spent, taken) } : ended
    const spent = { ...current.spent, runtime: current.spent.runtime + (threads.has(name) ? runtime : 0) }
    rows.set(name, { ...current, spent })
  }
  return rows
}

function usedByKnown({ operation, previous }: Partial<ChargedCall>, known: Locked): Held {
  if (known.held === NOTHING_HELD) return NOTHING_HELD
  return known.operation === operation ? usedBy(previous, known) : usageOfCharge(known)
}

/** Milliseconds of work since the last charge of the same run. */
function runtimeSince({ run, now, waitedSince }: Locking['call'], known: Charge | null): number {
  if (known === null || known.run !== run) return 0
  return toMillis(Math.max(0, (waitedSince ?? now) - known.at))
}

/** From the widest subject to the narrowest, so that no two transactions wait for each other. */
const LOCK_ORDER = ['account', 'user', 'tree', 'thread', 'run'] as const

type Key = Pick<Spending, 'owner' | 'period'>

function inLockOrder(one: Key, other: Key): number {
  const rank = ({ owner }: Key): number => LOCK_ORDER.findIndex((scope) => owner.startsWith(`${scope}:`))
  return rank(one) - rank(other) || (keyOf(one) < keyOf(other) ? -1 : 1)
}

function keyOf({ owner, period }: Key): string {
  return `${owner} ${period}`
}

function accountOf(subject: BudgetSubject, rows: ReadonlyMap<string, Spending>): Account {
  const { scope, period, limits } = subject
  const row = rows.get(keyOf(subject))
  if (row === undefined) throw new Error(`Expected the locked row of ${subject.owner}, found none.`)
  return { scope, period, limits: raiseLimits(limits, row.raised), spent: row.spent, held: row.held }
}

/** What the first charge of an unsent request has counted. */
function takenBack({ need, number }: Locking['call']): typeof NOTHING {
  const isStep = need.kind === 'model' && need.isStep && number === 1
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
