/**
 * The charge of a thread: what its newest call has taken from budgets.
 * Owns: what a request that has ended has really used, and the charges of requests that nobody will end.
 * Does not own: whether a call fits (`policy/budget-judgement.ts`), and how a charge is stored (`spending.ts`).
 * Invariant: what a charge holds is given back once. A thread has one call in flight (T1), so its next call ends the charge of the
 * one before; where none follows, the end of the run does, another thread that waits for what is held, or a sweep.
 */
import { sql } from 'kysely'
import { NOTHING_HELD } from '../../policy/budget-judgement.js'
import type { Held, Spent } from '../../policy/budget-judgement.js'
import { nowMicros, toMillis } from '../../protocol/time.js'
import type { Micros } from '../../protocol/time.js'
import type { Reader, Store, Writer } from '../store.js'
import { prepared } from '../transaction.js'
import { addTo, isNothing, lockSpendings, readSpending, writeSpendings } from './spending.js'
import type { Charge, Spending } from './spending.js'
import { threadSubject } from './subjects.js'

export async function findCharge(db: Reader, threadId: string): Promise<Charge | null> {
  const { charge } = await readSpending(db, threadSubject(threadId))
  return charge
}

/** The request of a charge, as the row of its operation has it. */
export async function readRequest(
  tx: Writer,
  threadId: string,
  charge: Charge | null,
): Promise<LoggedRequest | undefined> {
  if (charge === null) return undefined
  const [row] = await readDetail(tx, [threadId, charge.operation])
  // Written by `RequestLog`: the store's boundary.
  const detail = JSON.parse(row?.detail ?? 'null') as { readonly requests?: readonly LoggedRequest[] } | null
  return detail?.requests?.[charge.number - 1]
}

const readDetail = prepared<{ readonly detail: string | null }>(
  ([threadId, id]) => sql`select detail from operations where thread_id = ${threadId} and id = ${id}`,
)

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

/**
 * What a request has used whose charge holds so much. A provider bills one that it refuses with nothing, and one that was lost on the way at
 * least with its input.
 */
export function usedBy(request: LoggedRequest | undefined, held: Held): Held {
  if (request === undefined || isNothing(held)) return NOTHING_HELD
  if (request.usage !== null) {
    const { inputTokens, outputTokens, cost } = request.usage
    return { inputTokens, outputTokens, cost: cost ?? 0 }
  }
  if (request.error !== null && request.error !== 'lost') return NOTHING_HELD
  const { inputTokens } = held
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
interface KnownCharge extends Charge {
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
    const used = usedBy(await readRequest(tx, threadId, charge), held)
    const runtime = toMillis(Math.max(0, at - charge.at))
    const others = await lockSpendings(
      tx,
      charge.owners.flatMap(({ owner, period }) =>
        owner === own.owner ? [] : { owner, period, threadId: null },
      ),
    )
    // A period that is over has given everything back.
    const rows = [own, ...others].filter((row) => isCharged(row, charge))
    const ended = rows.map((row) => settled(row, held, { ...used, runtime }))
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

/** The row of a subject once a charge that held something in it has ended. */
export function settled(
  row: Spending,
  { inputTokens, outputTokens, cost }: Held,
  used: Partial<Spent>,
): Spending {
  return addTo(row, used, { inputTokens: -inputTokens, outputTokens: -outputTokens, cost: -cost })
}

/** Charges of requests that have ended, or whose run has, or that are older: nobody else gives back what they hold. */
async function listOldCharges(db: Reader, before: Micros): Promise<readonly KnownCharge[]> {
  const rows = await db
    .selectFrom('spending')
    .leftJoin('threads', 'threads.id', 'spending.thread_id')
    .select(['spending.thread_id', 'spending.state', 'threads.id as existing', 'threads.closed_at'])
    .where('spending.holding', '=', 1)
    .execute()
  const old: KnownCharge[] = []
  const young: KnownCharge[] = []
  for (const { thread_id: threadId, state, existing, closed_at: closedAt } of rows) {
    // Written by `spending.ts`: the store's boundary.
    const { charge } = JSON.parse(state) as Pick<Spending, 'charge'>
    if (threadId === null || charge === null) continue
    const isOver = existing === null || closedAt !== null || charge.at < before
    if (isOver) old.push({ ...charge, threadId })
    else young.push({ ...charge, threadId })
  }
  for (let from = 0; from < young.length; from += AT_ONCE)
    old.push(...(await endedOf(db, young.slice(from, from + AT_ONCE))))
  return old
}

/** Charges in one statement. */
const AT_ONCE = 100

/** Those whose request or run has ended. */
async function endedOf(db: Reader, charges: readonly KnownCharge[]): Promise<readonly KnownCharge[]> {
  const finished = await db
    .selectFrom('operations')
    .select('thread_id')
    .where((where) =>
      where.or(charges.map(({ threadId, operation }) => where.and({ thread_id: threadId, id: operation }))),
    )
    .where('state', '=', 'finished')
    .execute()
  const ended = await db
    .selectFrom('runs')
    .select('thread_id')
    .where((where) =>
      where.or(charges.map(({ threadId, run }) => where.and({ thread_id: threadId, number: run }))),
    )
    .where('ended_at', 'is not', null)
    .execute()
  const over = new Set([...finished, ...ended].map(({ thread_id: threadId }) => threadId))
  return charges.filter(({ threadId }) => over.has(threadId))
}
