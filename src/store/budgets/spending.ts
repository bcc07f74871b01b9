/**
 * What the subjects of budgets have used.
 * Owns: the row of a subject in a period, its periods, and limits that a person has raised.
 * Does not own: which subjects a call has (`subjects.ts`), and the charge of a thread (`charges.ts`).
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
import { pipeline } from '../transaction.js'

/** Names the row of a subject. */
interface SpendingKey {
  readonly owner: string
  readonly period: BudgetPeriod
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
}

/** Reads and locks the row of a subject, which is made if it is missing. A period that is over begins anew. */
export async function lockSpending(
  tx: Writer,
  { owner, period, threadId }: SpendingKey & { readonly threadId: string | null },
): Promise<Spending> {
  const { rows } = await sql<Row & { readonly now: string }>`
    insert into spending (owner, period, thread_id, began_at, steps, model_calls, tool_calls, runtime, input_tokens, output_tokens,
      cost, held_input, held_output, held_cost, warned, limits, raised)
    values (${owner}, ${period}, ${threadId}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '[]', '{}', '{}')
    on conflict (owner, period) do update set period = excluded.period
    returning *, cast(current_timestamp as text) as now`.execute(tx)
  const [row] = rows
  if (row === undefined) throw new Error(`Expected a row of ${owner}, got none.`)
  return inPeriod(fromRow(row), period, row.now)
}

/** Writes a row that this transaction has locked. */
export function writeSpending(tx: Writer, spending: Spending): void {
  const { owner, period, beganAt, spent, held, warned, limits, raised } = spending
  const statement = sql`
    update spending set began_at = ${beganAt}, steps = ${spent.steps}, model_calls = ${spent.modelCalls},
      tool_calls = ${spent.toolCalls}, runtime = ${spent.runtime}, input_tokens = ${spent.inputTokens},
      output_tokens = ${spent.outputTokens}, cost = ${spent.cost}, held_input = ${held.inputTokens},
      held_output = ${held.outputTokens}, held_cost = ${held.cost}, warned = ${JSON.stringify(warned)},
      limits = ${JSON.stringify(limits)}, raised = ${JSON.stringify(raised)}
    where owner = ${owner} and period = ${period}`
  pipeline(tx, statement.execute(tx))
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
  const warned = spending.warned.filter((one) => one !== name)
  await tx
    .updateTable('spending')
    .set({ raised: JSON.stringify(raised), warned: JSON.stringify(warned) })
    .where('owner', '=', owner)
    .where('period', '=', period)
    .execute()
}

/** The budgets of an owner were set anew: nothing that was raised before holds. */
export async function forgetRaised(tx: Writer, owner: string): Promise<void> {
  await tx
    .updateTable('spending')
    .set({ raised: '{}', limits: '{}', warned: '[]' })
    .where('owner', '=', owner)
    .execute()
}

const EMPTY: Omit<Spending, keyof SpendingKey> = {
  beganAt: 0,
  spent: NOTHING_SPENT,
  held: NOTHING_HELD,
  warned: [],
  limits: {},
  raised: {},
}

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

function fromRow(row: Row): Spending {
  // Written by `writeSpending`: the store's boundary.
  const warned = JSON.parse(row.warned) as readonly BudgetLimit[]
  return {
    owner: row.owner,
    period: row.period as BudgetPeriod,
    beganAt: row.began_at,
    spent: {
      steps: row.steps,
      modelCalls: row.model_calls,
      toolCalls: row.tool_calls,
      runtime: row.runtime,
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      cost: row.cost,
    },
    held: { inputTokens: row.held_input, outputTokens: row.held_output, cost: row.held_cost },
    warned: warned.filter((name) => BUDGET_LIMITS.includes(name)),
    limits: JSON.parse(row.limits) as Spending['limits'],
    raised: JSON.parse(row.raised) as Spending['raised'],
  }
}
