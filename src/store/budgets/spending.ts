/**
 * What the subjects of budgets have used.
 * Owns: the row of a subject in a period, its periods, limits that a person has raised, and how the charge of a thread is stored.
 * Does not own: which subjects a call has (`subjects.ts`), and when a charge is made and ended (`charges.ts`).
 * Invariants:
 * - A row is read and written in one transaction of `writeLocked`: the statement that reads it locks it.
 * - A period begins by the clock of the database, and never again: a clock that jumps back gives nothing back.
 */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { NOTHING_HELD, NOTHING_SPENT } from '../../policy/budget-judgement.js'
import type { Held, Spent } from '../../policy/budget-judgement.js'
import { BUDGET_LIMITS } from '../../policy/budget.js'
import type { RaisedLimit, RaisedLimits } from '../../policy/budget.js'
import type { BudgetLimit, BudgetPeriod } from '../../protocol/event-codes.js'
import { toMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import { locksRows, pipeline, prepared } from '../transaction.js'

/** Names the row of a subject. */
interface SpendingKey {
  readonly owner: string
  readonly period: BudgetPeriod
}

/** What the newest call of a thread has taken from budgets. What it holds is held in the row of its thread, and in those of its owners. */
export interface Charge {
  /** The newest model call: the id of its operation; empty: none. */
  readonly operation: string
  /** The newest call of a tool that was counted; empty: none. It holds nothing, so what the model call holds stays until the next one. */
  readonly tool: string
  readonly run: number
  /** Of the request within the model call, from 1. */
  readonly number: number
  readonly scheduledAt: Micros
  /** Up to here the time of the run is counted. */
  readonly at: Micros
  /** The subjects that are charged, in the periods of that time. */
  readonly owners: readonly Pick<Spending, 'owner' | 'period' | 'beganAt'>[]
}

export interface Spending extends SpendingKey {
  /** When the period began; 0 for all time. */
  readonly beganAt: Micros
  readonly spent: Spent
  readonly held: Held
  /** The limits of which a warning was given. */
  readonly warned: readonly BudgetLimit[]
  /** The limits of its newest charge, in their own units. */
  readonly limits: Readonly<Partial<Record<BudgetLimit, number>>>
  /** Limits that persons have raised. */
  readonly raised: RaisedLimits
  /** Only in the row of a thread. */
  readonly charge: Charge | null
  /** Whether the row is found among those whose charge holds something. */
  readonly isHolding: boolean
}

interface LockedSubject extends SpendingKey {
  /** The thread with which a row that is made here is deleted. */
  readonly threadId: string | null
}

/** Reads and locks the rows of subjects in this order; those that are missing are made. A period that is over begins anew. */
export async function lockSpendings(
  tx: Writer,
  subjects: readonly LockedSubject[],
): Promise<readonly Spending[]> {
  if (subjects.length === 0) return []
  const rows = await readOrMakeRows(tx, subjects)
  return subjects.map(({ owner, period }) => {
    const row = rows.find((one) => one.owner === owner && one.period === period)
    if (row === undefined) throw new Error(`Expected a row of ${owner}, got none.`)
    return inPeriod(fromRow(row), period, row.now)
  })
}

/** Where a transaction needs no locks, rows that are all there are only read, which costs less. */
async function readOrMakeRows(tx: Writer, subjects: readonly LockedSubject[]) {
  if (!locksRows(tx)) {
    const keys = subjects.flatMap(({ owner, period }) => [owner, period])
    const known = await readRows(tx, keys)
    if (known.length === subjects.length) return known
  }
  const keys = subjects.flatMap(({ owner, period, threadId }) => [owner, period, threadId])
  return lockRows(tx, keys)
}

const readRows = prepared<Row & { readonly now: string }>((values) => {
  const keys = inGroups(values, 2).map(([owner, period]) => sql`owner = ${owner} and period = ${period}`)
  return sql`select *, cast(current_timestamp as text) as now from spending where ${sql.join(keys, sql` or `)}`
})

const lockRows = prepared<Row & { readonly now: string }>((values) => {
  const rows = inGroups(values, 3).map((row) => sql`(${sql.join(row)}, 0, '{}', 0)`)
  return sql`
    insert into spending (owner, period, thread_id, began_at, state, holding)
    values ${sql.join(rows)}
    on conflict (owner, period) do update set period = excluded.period
    returning *, cast(current_timestamp as text) as now`
})

function inGroups<T>(values: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: values.length / size }, (_, n) => values.slice(n * size, (n + 1) * size))
}

/** Writes rows that this transaction has locked. */
export function writeSpendings(tx: Writer, rows: readonly Spending[]): void {
  if (rows.length === 0) return
  pipeline(tx, writeRows(tx, rows.flatMap(valuesOf)))
  for (const row of rows)
    if (row.charge !== null && holds(row) !== row.isHolding) pipeline(tx, writeHolding(tx, row))
}

function valuesOf(row: Spending) {
  const { owner, period, beganAt, charge } = row
  const state = toText(stateOf(row))
  if (charge === null) return [owner, period, beganAt, state, null, null, null]
  const { operation, run, ...rest } = charge
  return [owner, period, beganAt, state, operation, run, toText(rest)]
}

/** They are there, so that nothing is inserted: one statement for all of them. */
const writeRows = prepared<unknown>((values) => {
  const rows = inGroups(values, 7).map((row) => sql`(${sql.join(row)}, 0)`)
  return sql`
    insert into spending (owner, period, began_at, state, operation, run, charge, holding)
    values ${sql.join(rows)}
    on conflict (owner, period) do update set began_at = excluded.began_at, state = excluded.state,
      operation = excluded.operation, run = excluded.run, charge = excluded.charge`
})

function holds({ held }: Spending): boolean {
  return held.inputTokens + held.outputTokens + held.cost > 0
}

/** Alone, because a statement that names the column of an index writes the index too. */
async function writeHolding(tx: Writer, row: Spending): Promise<void> {
  await tx
    .updateTable('spending')
    .set({ holding: holds(row) ? 1 : 0 })
    .where('owner', '=', row.owner)
    .where('period', '=', row.period)
    .execute()
}

/** What a subject has used in its present period, for readers; nothing if it has no row. */
export async function readSpending(db: Reader, { owner, period }: SpendingKey): Promise<Spending> {
  const row = await db
    .selectFrom('spending')
    .selectAll()
    .select(sql<string>`cast(current_timestamp as text)`.as('now'))
    .where('owner', '=', owner)
    .where('period', '=', period)
    .executeTakeFirst()
  return row === undefined ? { ...EMPTY, owner, period } : inPeriod(fromRow(row), period, row.now)
}

interface Raise extends SpendingKey, RaisedLimit {
  readonly name: BudgetLimit
  /** The period that was asked about: a raise that comes after it changes nothing. */
  readonly beganAt: Micros
}

/** Raises a limit of a subject. It is never lowered by this. */
export async function raiseLimit(
  tx: Writer,
  { owner, period, name, beganAt, most, approval }: Raise,
): Promise<void> {
  const spending = await readSpending(tx, { owner, period })
  if (spending.beganAt !== beganAt || (spending.raised[name]?.most ?? 0) > most) return
  const raised: RaisedLimits = { ...spending.raised, [name]: { most, approval } }
  await setState(tx, { ...spending, raised, warned: spending.warned.filter((one) => one !== name) })
}

/** The budgets of an owner were set anew: nothing that was raised before holds. */
export async function forgetRaised(tx: Writer, owner: string): Promise<void> {
  const rows = await tx.selectFrom('spending').selectAll().where('owner', '=', owner).execute()
  for (const row of rows) await setState(tx, { ...fromRow(row), raised: {}, limits: {}, warned: [] })
}

/** Only the state, so that no row is made. */
async function setState(tx: Writer, row: Spending): Promise<void> {
  await tx
    .updateTable('spending')
    .set({ state: toText(stateOf(row)) })
    .where('owner', '=', row.owner)
    .where('period', '=', row.period)
    .execute()
}

/** What a row has as JSON. */
type State = Pick<Spending, 'spent' | 'held' | 'warned' | 'limits' | 'raised'>

function stateOf({ spent, held, warned, limits, raised }: State): State {
  return { spent, held, warned, limits, raised }
}

/** Texts that this process has written, and what they mean: a call reads what the call before has written, which need not be parsed. */
const written = new Map<string, object>()
const MOST_WRITTEN = 2_000

function toText(value: object): string {
  const text = JSON.stringify(value)
  if (written.size >= MOST_WRITTEN) written.clear()
  written.set(text, value)
  return text
}

const NEW: State = { spent: NOTHING_SPENT, held: NOTHING_HELD, warned: [], limits: {}, raised: {} }

const EMPTY: Omit<Spending, keyof SpendingKey> = { ...NEW, beganAt: 0, charge: null, isHolding: false }

function inPeriod(spending: Spending, period: BudgetPeriod, now: string): Spending {
  const beganAt = beginningOf(period, now)
  if (beganAt <= spending.beganAt) return spending
  const { owner } = spending
  return { ...EMPTY, owner, period, beganAt }
}

/** The beginning of the period by the clock of the database. */
function beginningOf(period: BudgetPeriod, now: string): Micros {
  if (period === 'total') return 0
  // SQLite gives UTC without naming it.
  const at = new Date(/[+-]\d\d(:?\d\d)?$/.test(now) ? now : `${now}Z`)
  const [year, month, day, hour] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours()]
  if (period === 'month') return toMicros(Date.UTC(year, month))
  return toMicros(period === 'day' ? Date.UTC(year, month, day) : Date.UTC(year, month, day, hour))
}

type Row = Selectable<Schema['spending']>

/** A row as it was written by this file: the store's boundary. */
function fromRow(row: Row): Spending {
  const state = (written.get(row.state) as State | undefined) ?? parseState(row.state)
  return {
    owner: row.owner,
    period: row.period as BudgetPeriod,
    beganAt: row.began_at,
    spent: state.spent,
    held: state.held,
    warned: state.warned,
    limits: state.limits,
    raised: state.raised,
    charge: row.charge === null ? null : chargeFrom(row.charge, row),
    isHolding: row.holding === 1,
  }
}

function parseState(text: string): State {
  const state = { ...NEW, ...(JSON.parse(text) as Partial<State>) }
  return { ...state, warned: state.warned.filter((name) => BUDGET_LIMITS.includes(name)) }
}

type Rest = Omit<Charge, 'operation' | 'run'>

function chargeFrom(text: string, { operation, run }: Pick<Row, 'operation' | 'run'>): Charge {
  const rest = (written.get(text) as Rest | undefined) ?? (JSON.parse(text) as Rest)
  return { ...rest, operation: operation ?? '', run: run ?? 0 }
}
