/**
 * The charge of a thread: what its newest call has taken from budgets.
 * Owns: the row of a charge, what a request that has ended has really used, and the charges of requests that nobody will end.
 * Does not own: whether a call fits (`policy/budget-judgement.ts`).
 * Invariant: what a charge holds is given back once. A thread has one call in flight (T1), so its next call ends the charge of the
 * one before; where none follows, the end of the run does, another thread that waits for what is held, or a sweep.
 */
import { sql } from 'kysely'
import type { Selectable } from 'kysely'
import { NOTHING_HELD } from '../../policy/budget-judgement.js'
import type { Held } from '../../policy/budget-judgement.js'
import type { BudgetPeriod } from '../../protocol/event-codes.js'
import { nowMicros, toMillis } from '../../protocol/time.js'
import type { Micros, Millis } from '../../protocol/time.js'
import type { Schema } from '../schema.js'
import type { Reader, Store, Writer } from '../store.js'
import { locksRows, prepared } from '../transaction.js'
import { lockSpendings, writeSpendings } from './spending.js'
import type { Spending } from './spending.js'

/** A subject that was charged, in the period of that time. */
type ChargedOwner = Pick<Spending, 'owner' | 'period' | 'beganAt'>

export interface Charge {
  readonly threadId: string
  /** The newest model call: the id of its operation. */
  readonly operation: string
  /** The newest call of a tool that was counted; empty: none. It holds nothing, so what the model call holds stays until the next one. */
  readonly tool: string
  readonly run: number
  /** Of the request within the model call, from 1. */
  readonly number: number
  readonly scheduledAt: Micros
  /** Up to here the time of the run is counted. */
  readonly at: Micros
  readonly owners: readonly ChargedOwner[]
  readonly held: Held
}

export async function findCharge(db: Reader, threadId: string): Promise<Charge | null> {
  const row = await db.selectFrom('charges').selectAll().where('thread_id', '=', threadId).executeTakeFirst()
  return row === undefined ? null : fromRow(row)
}

/** A charge with the log of its request. */
interface LoggedCharge extends Charge {
  /** JSON: the detail of its operation. */
  readonly detail: string | null
}

/** Reads and locks the charge of a thread, before the rows of any subject; null: it has none. */
export async function lockCharge(tx: Writer, threadId: string): Promise<LoggedCharge | null> {
  const [row] = await (locksRows(tx) ? lockRow : readRow)(tx, [threadId])
  if (row === undefined) return null
  return row.operation === '' && row.tool === '' ? null : { ...fromRow(row), detail: row.detail }
}

type LoggedRow = Row & { readonly detail: string | null }

const DETAIL = sql`(select detail from operations
  where operations.thread_id = charges.thread_id and operations.id = charges.operation) as detail`

const readRow = prepared<LoggedRow>(
  ([threadId]) => sql`select charges.*, ${DETAIL} from charges where thread_id = ${threadId}`,
)

/** A row that is missing is made, so that there is one to lock. */
const lockRow = prepared<LoggedRow>(
  ([threadId]) => sql`
    insert into charges (thread_id, operation, tool, run, number, scheduled_at, at, owners, held_input, held_output, held_cost)
    values (${threadId}, '', '', 0, 0, 0, 0, '[]', 0, 0, 0)
    on conflict (thread_id) do update set thread_id = excluded.thread_id
    returning *, ${DETAIL}`,
)

/** A row that was made to be locked: nothing is charged. */
export const NO_CHARGE = {
  ...{ operation: '', tool: '', run: 0, number: 0, scheduledAt: 0, at: 0 },
  owners: [],
  held: NOTHING_HELD,
}

/** Replaces the charge of the thread. */
export async function putCharge(tx: Writer, charge: Charge): Promise<void> {
  const { threadId, operation, tool, run, number, scheduledAt, at, held } = charge
  const owners = JSON.stringify(charge.owners.map(({ owner, period, beganAt }) => [owner, period, beganAt]))
  const { inputTokens, outputTokens, cost } = held
  const place = [threadId, operation, tool, run, number, scheduledAt, at, owners]
  await putRow(tx, [...place, inputTokens, outputTokens, cost])
}

const putRow = prepared<unknown>(
  (values) => sql`
    insert into charges (thread_id, operation, tool, run, number, scheduled_at, at, owners, held_input, held_output, held_cost)
    values (${sql.join(values)})
    on conflict (thread_id) do update set operation = excluded.operation, tool = excluded.tool, run = excluded.run,
      number = excluded.number, scheduled_at = excluded.scheduled_at, at = excluded.at, owners = excluded.owners,
      held_input = excluded.held_input, held_output = excluded.held_output, held_cost = excluded.held_cost`,
)

/** What the request of a charge has used: of one that was lost, the estimate of its input. */
export function usageOfCharge(charge: LoggedCharge): Held {
  const { number, held, detail } = charge
  if (number === 0 || held === NOTHING_HELD) return NOTHING_HELD
  // Written by `RequestLog`: the store's boundary.
  const { requests = [] } = (JSON.parse(detail ?? 'null') ?? {}) as {
    readonly requests?: readonly LoggedRequest[]
  }
  return usedBy(requests[number - 1], charge)
}

/** A request as the log of its operation has it. */
export interface LoggedRequest {
  readonly usage: {
    readonly inputTokens: number
    readonly outputTokens: number
    readonly cost: number | null
  } | null
  readonly error: string | null
  /** Dollars for a million tokens, those that are known. */
  readonly prices?: { readonly inputPrice?: number | null }
}

/** A provider bills a request that it refuses with nothing, and one that was lost on the way at least with its input. */
export function usedBy(request: LoggedRequest | undefined, { held }: Pick<Charge, 'held'>): Held {
  if (request?.usage != null) {
    const { inputTokens, outputTokens, cost } = request.usage
    return { inputTokens, outputTokens, cost: cost ?? 0 }
  }
  if (request === undefined) return NOTHING_HELD
  if (request.error !== null && request.error !== 'lost') return NOTHING_HELD
  const { inputTokens } = held
  return { inputTokens, outputTokens: 0, cost: Math.ceil(inputTokens * (request.prices?.inputPrice ?? 0)) }
}

/** Puts what a request has used in the place of what its charge held, in the rows of all of its subjects. */
async function putUsed(tx: Writer, charge: Charge, used: Held, runtime: Millis): Promise<void> {
  const locked = await lockSpendings(
    tx,
    charge.owners.map((key) => ({ ...key, threadId: null })),
  )
  // A period that is over has given everything back.
  const rows = locked.filter(({ beganAt }, index) => beganAt === charge.owners[index]?.beganAt)
  const ended = rows.map((row) => settled(row, charge.held, used))
  writeSpendings(
    tx,
    ended.map(({ spent, ...row }) => ({ ...row, spent: { ...spent, runtime: spent.runtime + runtime } })),
  )
}

/**
 * Ends charges that nobody ends: of calls that are over, of runs that have ended, and of workers that are long dead; but not that of a
 * thread. Returns their number.
 */
export async function endOldCharges(
  store: Store,
  except: { readonly threadId: string } | null,
): Promise<number> {
  const ended = await store.read((db) => listOldCharges(db, nowMicros() - OLD))
  let count = 0
  for (const one of ended)
    if (one.threadId !== except?.threadId && (await endCharge(store, one, one.at))) count += 1
  return count
}

/** Longer than any call of a model: an hour, in microseconds. */
const OLD = 3_600_000_000

/** Ends the charge of the thread's newest call: none follows it in its run, or the thread goes. `at`: until when the run has worked. */
export async function endChargeOf(
  store: Store,
  { threadId, at }: { readonly threadId: string; readonly at: Micros | null },
): Promise<void> {
  const known = await store.read((db) => findCharge(db, threadId))
  if (known !== null) await endCharge(store, known, at ?? known.at)
}

async function endCharge(store: Store, known: Charge, at: Micros): Promise<boolean> {
  return store.writeLocked(async (tx) => {
    const { threadId, operation, number } = known
    const charge = await lockCharge(tx, threadId)
    // Another call was charged, or another has ended it.
    if (charge === null || charge.operation !== operation || charge.number !== number) return false
    if (charge.held === NOTHING_HELD && at <= charge.at) return false
    await putUsed(tx, charge, usageOfCharge(charge), toMillis(Math.max(0, at - charge.at)))
    await putCharge(tx, { ...charge, at: Math.max(at, charge.at), held: NOTHING_HELD })
    return true
  })
}

type Sums = Pick<Awaited<ReturnType<typeof lockSpendings>>[number], 'spent' | 'held'>

/** The sums of a subject once a charge has ended. */
export function settled<Row extends Sums>(spending: Row, held: Held, used: Held): Row {
  const { spent, held: before } = spending
  return {
    ...spending,
    spent: {
      ...spent,
      inputTokens: spent.inputTokens + used.inputTokens,
      outputTokens: spent.outputTokens + used.outputTokens,
      cost: spent.cost + used.cost,
    },
    held: {
      inputTokens: Math.max(0, before.inputTokens - held.inputTokens),
      outputTokens: Math.max(0, before.outputTokens - held.outputTokens),
      cost: Math.max(0, before.cost - held.cost),
    },
  }
}

/** Charges of requests that have ended, or whose run has, or that are older: nobody else gives back what they hold. */
async function listOldCharges(db: Reader, before: Micros): Promise<readonly Charge[]> {
  const rows = await db
    .selectFrom('charges')
    .leftJoin('operations', (join) =>
      join
        .onRef('operations.thread_id', '=', 'charges.thread_id')
        .onRef('operations.id', '=', 'charges.operation'),
    )
    .leftJoin('runs', (join) =>
      join.onRef('runs.thread_id', '=', 'charges.thread_id').onRef('runs.number', '=', 'charges.run'),
    )
    .leftJoin('threads', 'threads.id', 'charges.thread_id')
    .selectAll('charges')
    .where('charges.held_input', '>', 0)
    .where((where) =>
      where.or([
        where('operations.state', '=', 'finished'),
        where('runs.ended_at', 'is not', null),
        where('threads.closed_at', 'is not', null),
        where('threads.id', 'is', null),
        where('charges.at', '<', before),
      ]),
    )
    .execute()
  return rows.map(fromRow)
}

type Row = Selectable<Schema['charges']>

function fromRow(row: Row): Charge {
  // Written by `putCharge`: the store's boundary.
  const owners = JSON.parse(row.owners) as readonly (readonly [string, BudgetPeriod, Micros])[]
  const held = { inputTokens: row.held_input, outputTokens: row.held_output, cost: row.held_cost }
  const holds = held.inputTokens + held.outputTokens + held.cost > 0
  return {
    threadId: row.thread_id,
    operation: row.operation,
    tool: row.tool,
    run: row.run,
    number: row.number,
    scheduledAt: row.scheduled_at,
    at: row.at,
    owners: owners.map(([owner, period, beganAt]) => ({ owner, period, beganAt })),
    held: holds ? held : NOTHING_HELD,
  }
}
