/**
 * What a call leaves in the rows that it is counted in.
 * Owns: what it and the call before it change in each row, the charge of its thread, and the warnings that are due.
 * Does not own: whether it fits (`policy/budget-judgement.ts`), and the transaction in which it is counted (`charge.ts`).
 */
import { judgeBudgets, nearLimits, usedOf } from '../../policy/budget-judgement.js'
import type { Account, BudgetJudgement, Held, ModelNeed, Need, Spent } from '../../policy/budget-judgement.js'
import { lowestOf, raiseLimits } from '../../policy/budget.js'
import type { EventScope } from '../../protocol/events.js'
import { toMillis } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import { isCharged, settled } from '../../store/budgets/charges.js'
import type { LoggedRequest } from '../../store/budgets/charges.js'
import { addTo } from '../../store/budgets/spending.js'
import type { Charge, Spending, SpendingKey } from '../../store/budgets/spending.js'
import type { BudgetSubject } from '../../store/budgets/subjects.js'

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

/** What a call is counted in. */
export interface Ledger {
  readonly subjects: readonly BudgetSubject[]
  /** The first is that of the thread, which has the charge. The others are those of the subjects. */
  readonly rows: readonly Spending[]
}

/** What a call leaves. */
export interface Counted {
  readonly judgement: BudgetJudgement
  /** The subjects as they were before it. */
  readonly accounts: readonly Account[]
  readonly rows: readonly Spending[]
  readonly warnings: readonly Warning[]
}

/** The row of the thread among those of a ledger. */
export function ownRow([own]: readonly Spending[]): Spending {
  if (own === undefined) throw new Error('Expected the row of a thread, found none.')
  return own
}

export interface ChargedModel extends ChargedCall {
  readonly need: ModelNeed
}

/** Whether the charge is of this very request, which was not sent: a provider wanted a pause, or the attempt died. */
export function isUnsent({ operation, number }: ChargedCall, known: Charge | null): boolean {
  return known?.operation === operation && known.number === number
}

interface CountedRequest {
  /** Of its charge. */
  readonly id: string
  /** What the request before it has used, in the place of what that holds. */
  readonly used: Held
}

/** Counts a request to a model, which holds what it may use. */
export function countModel(
  call: ChargedModel,
  { subjects, rows }: Ledger,
  { id, used }: CountedRequest,
): Counted {
  const { run, operation, number, scheduledAt, now } = call
  const own = ownRow(rows)
  const { charge: known } = own
  const ended = withRuntime(endedIn(rows, { own, call, used }), call, known)
  // The first request of a call is that of its step.
  const need = { ...call.need, isStep: call.need.isStep && number === 1 }
  const judged = judge(need, { subjects, rows: ended })
  const { judgement } = judged
  if (judgement.kind === 'fits') {
    const owners = ended.map(({ owner, period, beganAt }) => ({ owner, period, beganAt }))
    const tool = known?.tool ?? ''
    const charge = { id, operation, tool, run, number, scheduledAt, at: now, owners }
    const taken = ended.map((row) => addTo(row, spentBy(need), judgement.held))
    return told(judged, { subjects, rows: withCharge(taken, charge) })
  }
  if (known === null) return told(judged, { subjects, rows: ended })
  const charge = { ...known, run, at: now, operation: isUnsent(call, known) ? NOT_CHARGED : known.operation }
  return told(judged, { subjects, rows: withCharge(ended, charge) })
}

/** The charge of a request that was taken back. */
const NOT_CHARGED = '(none)'

interface Ending {
  readonly own: Spending
  readonly call: ChargedModel
  readonly used: Held
}

/** Rows in which the charge of the thread's own row is ended; `used` by its request. A request that was not sent is taken back whole. */
export function endedIn(
  rows: readonly Spending[],
  { own: { charge, held }, call, used }: Ending,
): readonly Spending[] {
  if (charge === null) return rows
  const counts = isUnsent(call, charge) ? takenBack(call) : null
  return rows.map((row) => (isCharged(row, charge) ? settled(row, held, { ...used, ...counts }) : row))
}

/** What the first charge of an unsent request has counted. */
function takenBack({ need, number }: ChargedModel): Partial<Spent> {
  return { steps: need.isStep && number === 1 ? -1 : 0, modelCalls: -1 }
}

/** Counts a call of a tool. It holds nothing, and leaves what the model call before it holds until the next one. */
export function countTool(call: ChargedCall, { subjects, rows }: Ledger): Counted {
  const { run, operation, scheduledAt, now, need } = call
  const { charge: known } = ownRow(rows)
  const before = known ?? { id: '', operation: '', tool: '', number: 0, owners: [] }
  const until = withRuntime(rows, call, known)
  const judged = judge(need, { subjects, rows: until })
  const fits = judged.judgement.kind === 'fits'
  const taken = fits ? until.map((row) => addTo(row, spentBy(need))) : until
  const charge = { ...before, tool: fits ? operation : before.tool, run, scheduledAt, at: now }
  return told(judged, { subjects, rows: withCharge(taken, charge) })
}

/** Counts a request beside the call that the thread has in flight. It waits for nobody: one that fits only once others use less is sent. */
export function countBeside(need: ModelNeed, { subjects, rows }: Ledger): Counted {
  const judged = judge(need, { subjects, rows })
  const taken = judged.judgement.kind === 'exceeded' ? rows : rows.map((row) => addTo(row, spentBy(need)))
  return told(judged, { subjects, rows: taken })
}

/** Rows with the milliseconds of work since the last charge, if it was of the same run. */
function withRuntime(
  rows: readonly Spending[],
  { run, now, waitedSince }: ChargedCall,
  known: Charge | null,
): readonly Spending[] {
  if (known === null || known.run !== run) return rows
  const runtime = toMillis(Math.max(0, (waitedSince ?? now) - known.at))
  return runtime === 0 ? rows : rows.map((row) => addTo(row, { runtime }))
}

function spentBy(need: Need): Partial<Spent> {
  return need.kind === 'tool' ? { toolCalls: 1 } : { steps: need.isStep ? 1 : 0, modelCalls: 1 }
}

function withCharge(rows: readonly Spending[], charge: Charge): readonly Spending[] {
  return rows.map((row, index) => (index === 0 ? { ...row, charge } : row))
}

type Judged = Pick<Counted, 'judgement' | 'accounts'>

function judge(need: Need, { subjects, rows }: Ledger): Judged {
  const accounts = subjects.map((subject) => {
    const { raised, spent, held } = rowOf(rows, subject)
    const { scope, period, limits } = subject
    return { scope, period, limits: raiseLimits(limits, raised), spent, held }
  })
  return { accounts, judgement: judgeBudgets(need, accounts) }
}

export function rowOf(rows: readonly Spending[], key: SpendingKey): Spending {
  const row = rows.find(({ owner, period }) => owner === key.owner && period === key.period)
  if (row === undefined) throw new Error(`Expected the locked row of ${key.owner}, found none.`)
  return row
}

export interface Warning {
  readonly scope: BudgetSubject['scope']
  readonly period: BudgetSubject['period']
  readonly limit: Spending['warned'][number]
  readonly most: number
  readonly used: number
}

/** Warnings that are due, and the rows with these and with the limits, as people read them who do not know the code of the worker. */
function told({ judgement, accounts }: Judged, { subjects, rows }: Ledger): Counted {
  const changes = subjects.map((subject) => {
    const row = rowOf(rows, subject)
    const limits = raiseLimits(subject.limits, row.raised)
    const lowest = limits === subject.limits ? subject.lowest : lowestOf(limits)
    const warnings = dueWarnings({ ...subject, limits }, row, judgement)
    const warned = warnings.length === 0 ? row.warned : [...row.warned, ...warnings.map(({ limit }) => limit)]
    return { before: row, row: { ...row, warned, limits: lowest }, warnings }
  })
  return {
    judgement,
    accounts,
    rows: rows.map((row) => changes.find(({ before }) => before === row)?.row ?? row),
    warnings: changes.flatMap(({ warnings }) => warnings),
  }
}

/** The limits of which a warning is due, once in their period, and before a call does not fit. */
function dueWarnings(
  { scope, period, limits }: Pick<BudgetSubject, 'scope' | 'period' | 'limits'>,
  { spent, warned }: Spending,
  judgement: BudgetJudgement,
): readonly Warning[] {
  const reached = nearLimits({ limits, spent }).map(({ name }) => name)
  const over = judgement.kind === 'exceeded' ? judgement.exceeded : null
  if (over?.scope === scope && over.period === period) reached.push(over.limit.name)
  if (reached.length === 0) return []
  const near = limits.filter(
    ({ name }, index) =>
      reached.includes(name) &&
      !warned.includes(name) &&
      limits.findIndex((one) => one.name === name) === index,
  )
  return near.map(({ name, most }) => {
    return { scope, period, limit: name, most, used: usedOf(spent, name) }
  })
}
