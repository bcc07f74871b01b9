/**
 * The charge of a thread: what its newest call has taken from budgets.
 * Owns: what a request that has ended has really used, and the charges of requests that nobody will end.
 * Does not own: whether a call fits (`policy/budget-judgement.ts`), and how a charge is stored (`spending.ts`).
 * Invariant: what a charge holds is given back once. A thread has one call in flight (T1), so its next call ends the charge of the
 * one before; where none follows, the end of the run does, another thread that waits for what is held, or a sweep.
 */
import { sql } from 'kysely'
import { NOTHING_HELD } from '../../policy/budget-judgement.js'
import type { Held } from '../../policy/budget-judgement.js'
import { nowMicros, toMillis } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { Reader, Store, Writer } from '../store.js'
import { prepared } from '../transaction.js'
import { lockSpendings, readSpending, writeSpendings } from './spending.js'
import type { Charge, Spending } from './spending.js'
import { threadSubject } from './subjects.js'

export async function findCharge(db: Reader, threadId: string): Promise<Charge | null> {
  const { charge } = await readSpending(db, threadSubject(threadId))
  return charge
}

type OwnRow = Pick<Spending, 'charge' | 'held'> & { readonly threadId: string }

/**
 * What the request of a charge has used: of one that was lost, the estimate of its input. `request`: as its call knows it, or `stored`: as
 * the row of its operation has it.
 */
export async function usageOfCharge(
  tx: Writer,
  { charge, held, threadId }: OwnRow,
  request: LoggedRequest | 'stored' | undefined,
): Promise<Held> {
  if (charge === null || isNothing(held)) return NOTHING_HELD
  return usedBy(request === 'stored' ? await readRequest(tx, threadId, charge) : request, held)
}

async function readRequest(
  tx: Writer,
  threadId: string,
  { operation, number }: Charge,
): Promise<LoggedRequest | undefined> {
  const [row] = await readDetail(tx, [threadId, operation])
  // Written by `RequestLog`: the store's boundary.
  const detail = JSON.parse(row?.detail ?? 'null') as { readonly requests?: readonly LoggedRequest[] } | null
  return detail?.requests?.[number - 1]
}

const readDetail = prepared<{ readonly detail: string | null }>(
  ([threadId, id]) => sql`select detail from operations where thread_id = ${threadId} and id = ${id}`,
)

function isNothing({ inputTokens, outputTokens, cost }: Held): boolean {
  return inputTokens + outputTokens + cost === 0
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
function usedBy(request: LoggedRequest | undefined, { inputTokens }: Held): Held {
  if (request?.usage != null) {
    const { usage } = request
    return { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens, cost: usage.cost ?? 0 }
  }
  if (request === undefined) return NOTHING_HELD
  if (request.error !== null && request.error !== 'lost') return NOTHING_HELD
  return { inputTokens, outputTokens: 0, cost: Math.ceil(inputTokens * (request.prices?.inputPrice ?? 0)) }
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
  if (known !== null) await endCharge(store, { ...known, threadId }, at ?? known.at)
}

/** A charge as it was read before its row is locked. */
interface KnownCharge extends Pick<Charge, 'operation' | 'number' | 'at'> {
  readonly threadId: string
}

async function endCharge(store: Store, known: KnownCharge, at: Micros): Promise<boolean> {
  const { threadId, operation, number } = known
  return store.writeLocked(async (tx) => {
    const [own] = await lockSpendings(tx, [threadSubject(threadId)])
    const charge = own?.charge ?? null
    // Another call was charged, or another has ended it.
    if (own === undefined || charge?.operation !== operation || charge.number !== number) return false
    const { held } = own
    if (isNothing(held) && at <= charge.at) return false
    const used = await usageOfCharge(tx, { ...own, threadId }, 'stored')
    const runtime = toMillis(Math.max(0, at - charge.at))
    const others = await lockSpendings(
      tx,
      charge.owners.flatMap(({ owner, period }) =>
        owner === own.owner ? [] : { owner, period, threadId: null },
      ),
    )
    // A period that is over has given everything back.
    const rows = [own, ...others].filter((row) => isCharged(row, charge))
    const ended = rows.map((row) => {
      const { spent, ...sums } = settled(row, held, used)
      return { ...sums, spent: { ...spent, runtime: spent.runtime + runtime } }
    })
    writeSpendings(
      tx,
      ended.map((row) =>
        row.owner === own.owner ? { ...row, charge: { ...charge, at: Math.max(at, charge.at) } } : row,
      ),
    )
    return true
  })
}

/** Whether a charge has taken something from a subject in its present period. */
export function isCharged({ owner, period, beganAt }: Spending, { owners }: Charge): boolean {
  return owners.some((one) => one.owner === owner && one.period === period && one.beganAt === beganAt)
}

/** The sums of a subject once a charge has ended. */
export function settled(spending: Spending, held: Held, used: Held): Spending {
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
async function listOldCharges(db: Reader, before: Micros): Promise<readonly KnownCharge[]> {
  const rows = await db
    .selectFrom('spending')
    .leftJoin('operations', (join) =>
      join
        .onRef('operations.thread_id', '=', 'spending.thread_id')
        .onRef('operations.id', '=', 'spending.operation'),
    )
    .leftJoin('runs', (join) =>
      join.onRef('runs.thread_id', '=', 'spending.thread_id').onRef('runs.number', '=', 'spending.run'),
    )
    .leftJoin('threads', 'threads.id', 'spending.thread_id')
    .select(['spending.thread_id', 'spending.operation', 'spending.charge'])
    .select(
      sql<number>`case when operations.state = 'finished' or runs.ended_at is not null
        or threads.closed_at is not null or threads.id is null then 1 else 0 end`.as('is_over'),
    )
    .where('spending.holding', '=', 1)
    .execute()
  return rows.flatMap(({ thread_id: threadId, operation, charge, is_over: isOver }) => {
    if (threadId === null || operation === null || charge === null) return []
    // Written by `writeSpendings`: the store's boundary.
    const { number, at } = JSON.parse(charge) as Pick<Charge, 'number' | 'at'>
    return isOver === 1 || at < before ? { threadId, operation, number, at } : []
  })
}
