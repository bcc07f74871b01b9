/**
 * What the subjects of budgets have used.
 * Owns: the row of a subject in a period, its periods, limits that a person has raised, how the charge of a thread is stored, and the rows that
 * this process remembers.
 * Does not own: which subjects a call has (`subjects.ts`), and when a charge is made and ended (`charges.ts`).
 * Invariants:
 * - A row is read and written in one transaction of `writeLocked`: the statement that reads it locks it. One that is only remembered is
 *   written by a statement that finds it as it is remembered (`replaceRemembered`), whoever else has written it meanwhile.
 * - A period begins by the clock of the database, and never again: a clock that jumps back gives nothing back.
 */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { NOTHING_HELD, NOTHING_SPENT } from '../../policy/budget-judgement.js'
import type { Held, Spent } from '../../policy/budget-judgement.js'
import type { RaisedLimit, RaisedLimits } from '../../policy/budget.js'
import type { BudgetLimit, BudgetPeriod } from '../../protocol/event-codes.js'
import { toMicros } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { Schema } from '../schema.js'
import type { Reader, Writer } from '../store.js'
import { locksRows, pipeline, prepared, preparedWrite } from '../transaction.js'
import { keepUpTo } from './keep-up-to.js'

/** Names the row of a subject. */
export interface SpendingKey {
  readonly owner: string
  readonly period: BudgetPeriod
}

/** What the newest call of a thread has taken from budgets. What it holds is held in the row of its thread, and in those of its owners. */
export interface Charge {
  /** Made with the newest request to a model, in any store and at any time; empty: none was made. */
  readonly id: string
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

export interface LockedSubject extends SpendingKey {
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
    return inPeriod(fromRow(row), () => dateOf(row.now))
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
  const rows = inGroups(values, 3).map((row) => sql`(${sql.join(row)}, '{}', 0)`)
  return sql`
    insert into spending (owner, period, thread_id, state, holding)
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
  const values = rows.flatMap((row) => [row.owner, row.period, remember(row)])
  pipeline(tx, writeRows(tx, values))
  writeHoldings(tx, rows)
}

/** They are there, so that nothing is inserted: one statement for all of them. */
const writeRows = prepared<unknown>((values) => {
  const rows = inGroups(values, 3).map((row) => sql`(${sql.join(row)}, 0)`)
  return sql`
    insert into spending (owner, period, state, holding) values ${sql.join(rows)}
    on conflict (owner, period) do update set state = excluded.state`
})

/** Whether a charge holds nothing. */
export function isNothing({ inputTokens, outputTokens, cost }: Held): boolean {
  return inputTokens + outputTokens + cost === 0
}

function holds({ charge, held }: Spending): boolean {
  return charge !== null && !isNothing(held)
}

/** Alone, because a statement that names the column of an index writes the index too. */
function writeHoldings(tx: Writer, rows: readonly Spending[]): void {
  for (const row of rows) {
    if (holds(row) === row.isHolding) continue
    const holding = tx
      .updateTable('spending')
      .set({ holding: holds(row) ? 1 : 0 })
      .where('owner', '=', row.owner)
      .where('period', '=', row.period)
    pipeline(tx, holding.execute())
  }
}

/** A row as this process has written it. */
interface Remembered {
  readonly row: Spending
  /** Its state as it was stored. */
  readonly text: string
}

/**
 * The rows as this process has written them last, whether that was committed or not: a call nearly always meets them as the call before has
 * left them.
 */
const remembered = new Map<string, Remembered>()
const MOST_REMEMBERED = 2_000

/** Returns the state as it is stored. */
function remember(row: Spending): string {
  const text = JSON.stringify(stateOf(row))
  keepUpTo(MOST_REMEMBERED, remembered, keyOf(row), { text, row: { ...row, isHolding: holds(row) } })
  return text
}

function keyOf({ owner, period }: SpendingKey): string {
  return `${owner} ${period}`
}

/**
 * The rows of subjects as this process remembers them; null: it does not know all of them, or the transaction has to lock them. What is
 * found by them holds only if `replaceRemembered` writes it.
 */
export function rememberedSpendings(
  tx: Writer,
  subjects: readonly SpendingKey[],
): readonly Remembered[] | null {
  if (locksRows(tx)) return null
  const rows: Remembered[] = []
  for (const subject of subjects) {
    const known = remembered.get(keyOf(subject))
    if (known === undefined) return null
    // The clock of SQLite is that of its machine.
    rows.push({ text: known.text, row: inPeriod(known.row, () => new Date()) })
  }
  return rows
}

/**
 * Writes rows in the place of those that were remembered, which are the same ones in the same order, if all of these are stored so; otherwise
 * it leaves them as they are. Returns whether it has. The rows are remembered in both cases: a next one finds that they are not stored.
 */
export async function replaceRemembered(
  tx: Writer,
  before: readonly Remembered[],
  rows: readonly Spending[],
): Promise<boolean> {
  const replaced: Remembered[] = []
  for (const [index, row] of rows.entries()) {
    const known = before[index]
    if (known === undefined) throw new Error('Expected as many rows as were remembered.')
    const { owner, period } = row
    if ((await replaceRow(tx, [remember(row), owner, period, known.text])) === 0) {
      for (const one of replaced) await setState(tx, one.row, one.text)
      return false
    }
    replaced.push(known)
  }
  writeHoldings(tx, rows)
  return true
}

/** Row by row: SQLite takes longer for one statement that returns which rows it has found, or that joins a list of them. */
const replaceRow = preparedWrite(([state, owner, period, known], tx) =>
  tx
    .updateTable('spending')
    .set({ state: String(state) })
    .where('owner', '=', String(owner))
    .where('period', '=', String(period))
    .where('state', '=', String(known)),
)

/** A row with so much more used and held. What is held is never less than nothing. */
export function addTo(row: Spending, used: Partial<Spent>, holding: Held = NOTHING_HELD): Spending {
  const { spent, held } = row
  const { steps = 0, modelCalls = 0, toolCalls = 0, runtime = 0 } = used
  const { inputTokens = 0, outputTokens = 0, cost = 0 } = used
  return {
    ...row,
    spent: {
      steps: spent.steps + steps,
      modelCalls: spent.modelCalls + modelCalls,
      toolCalls: spent.toolCalls + toolCalls,
      runtime: spent.runtime + runtime,
      inputTokens: spent.inputTokens + inputTokens,
      outputTokens: spent.outputTokens + outputTokens,
      cost: spent.cost + cost,
    },
    held: {
      inputTokens: Math.max(0, held.inputTokens + holding.inputTokens),
      outputTokens: Math.max(0, held.outputTokens + holding.outputTokens),
      cost: Math.max(0, held.cost + holding.cost),
    },
  }
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
  return row === undefined ? { ...EMPTY, owner, period } : inPeriod(fromRow(row), () => dateOf(row.now))
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
  const changed = { ...spending, raised, warned: spending.warned.filter((one) => one !== name) }
  await setState(tx, changed, remember(changed))
}

/** The budgets of an owner were set anew: nothing that was raised before holds. */
export async function forgetRaised(tx: Writer, owner: string): Promise<void> {
  const rows = await tx.selectFrom('spending').selectAll().where('owner', '=', owner).execute()
  for (const row of rows) {
    const changed = { ...fromRow(row), raised: {}, limits: {}, warned: [] }
    await setState(tx, changed, remember(changed))
  }
}

/** Only the state, so that no row is made. */
async function setState(tx: Writer, { owner, period }: SpendingKey, state: string): Promise<void> {
  await tx
    .updateTable('spending')
    .set({ state })
    .where('owner', '=', owner)
    .where('period', '=', period)
    .execute()
}

/** What a row has as JSON. */
type State = Omit<Spending, keyof SpendingKey | 'isHolding'>

function stateOf({ beganAt, spent, held, warned, limits, raised, charge }: Spending): State {
  return { beganAt, spent, held, warned, limits, raised, charge }
}

const NEW: State = {
  beganAt: 0,
  spent: NOTHING_SPENT,
  held: NOTHING_HELD,
  warned: [],
  limits: {},
  raised: {},
  charge: null,
}

const EMPTY: Omit<Spending, keyof SpendingKey> = { ...NEW, isHolding: false }

function inPeriod(spending: Spending, now: () => Date): Spending {
  const { owner, period } = spending
  const beganAt = period === 'total' ? 0 : beginningOf(period, now())
  return beganAt <= spending.beganAt ? spending : { ...EMPTY, owner, period, beganAt }
}

/** A time as the database gives it. */
function dateOf(text: string): Date {
  // SQLite gives UTC without naming it.
  return new Date(/[+-]\d\d(:?\d\d)?$/.test(text) ? text : `${text}Z`)
}

/** The beginning of the period by the clock of the database. */
function beginningOf(period: Exclude<BudgetPeriod, 'total'>, at: Date): Micros {
  const [year, month, day, hour] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours()]
  if (period === 'month') return toMicros(Date.UTC(year, month))
  return toMicros(period === 'day' ? Date.UTC(year, month, day) : Date.UTC(year, month, day, hour))
}

type Row = Selectable<Schema['spending']>

/** A row as it was written by this file: the store's boundary. */
function fromRow(row: Row): Spending {
  const key = { owner: row.owner, period: row.period as BudgetPeriod }
  const isHolding = row.holding === 1
  const known = remembered.get(keyOf(key))
  if (known?.text === row.state) return { ...known.row, isHolding }
  return { ...NEW, ...(JSON.parse(row.state) as Partial<State>), ...key, isHolding }
}
