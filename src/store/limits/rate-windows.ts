/**
 * What accounts and sessions have used in the last minute, over all processes.
 * Owns: the rows of the windows, and their time. Does not own: what counts and for how long (`policy/rolling-window.ts`).
 * Each use is a short transaction of its own: in one of a thread it would make that thread wait for all others of its account.
 */
import { sql } from 'kysely'
import type { RateLimitName } from '../../policy/rate-limits.js'
import { allowanceOf, countUses, createRollingClock } from '../../policy/rolling-window.js'
import type { Allowance, RollingClock, RollingTime, SecondCounts } from '../../policy/rolling-window.js'
import type { Reader, Store, Writer } from '../store.js'

/** Whose uses of what are counted. */
export interface RateWindow {
  /** Null: threads without an account. */
  readonly account: string | null
  readonly kind: RateLimitName
  /** The root thread of a session; left out: all sessions of the account. */
  readonly session?: string
}

/** The windows of a store, as this process sees them. */
export interface RateWindows {
  /** Counts one use if the limit allows it. */
  take(window: RateWindow, limit: number): Promise<Allowance>
  /** Whether the limit allows one more use, which is not counted. */
  look(window: RateWindow, limit: number): Promise<Allowance>
  /** Counts uses that have happened. */
  add(window: RateWindow, amount: number): Promise<void>
}

type Place = Pick<Store, 'read' | 'write' | 'clock'>

/** `clock`: what this process knows of the store's time. */
export function openRateWindows(store: Place, clock: RollingClock = createRollingClock()): RateWindows {
  const see = async (db: Reader, window: RateWindow): Promise<Seen> => {
    const { counts, at } = await readWindow(db, window, store.clock)
    return { counts, time: clock.read(at, performance.now() / 1000) }
  }
  return {
    take: (window, limit) =>
      store.write(async (tx) => {
        const { counts, time } = await see(tx, window)
        const allowance = allowanceOf(counts, time, limit)
        if (allowance.kind === 'exhausted') return allowance
        await writeWindow(tx, window, { time, counts: countUses(counts, time, 1) })
        return { kind: 'allowed', left: allowance.left - 1 }
      }),
    look: (window, limit) =>
      store.read(async (db) => {
        const { counts, time } = await see(db, window)
        return allowanceOf(counts, time, limit)
      }),
    add: (window, amount) =>
      store.write(async (tx) => {
        const { counts, time } = await see(tx, window)
        await writeWindow(tx, window, { time, counts: countUses(counts, time, amount) })
      }),
  }
}

interface Seen {
  readonly counts: SecondCounts
  readonly time: RollingTime
}

/** In one statement, which sees the uses of every transaction whose time is before its own. */
async function readWindow(
  db: Reader,
  { account, kind, session }: RateWindow,
  clock: Store['clock'],
): Promise<{ readonly counts: SecondCounts; readonly at: number }> {
  const { at, counts } = await db
    .selectFrom(sql<object>`(select 1)`.as('one'))
    .select((select) => [
      clock.as('at'),
      select
        .selectFrom('rate_windows')
        .select('counts')
        .where('account', '=', account ?? '')
        .where('kind', '=', kind)
        .where('session', '=', session ?? '')
        .as('counts'),
    ])
    .executeTakeFirstOrThrow()
  // Written by `writeWindow`: the store's boundary.
  return { at, counts: counts === null ? [] : (JSON.parse(counts) as SecondCounts) }
}

async function writeWindow(
  tx: Writer,
  { account, kind, session }: RateWindow,
  { counts, time }: Seen,
): Promise<void> {
  const written = { counts: JSON.stringify(counts), updated_at: Math.floor(time.at * 1_000_000) }
  await tx
    .insertInto('rate_windows')
    .values({ account: account ?? '', kind, session: session ?? '', ...written })
    .onConflict((conflict) => conflict.columns(['account', 'kind', 'session']).doUpdateSet(written))
    .execute()
}

/** A window that was not used for so long has nothing that counts, whatever the clock did. Microseconds. */
const LONG_OVER = 86_400_000_000

/** Deletes windows that have long been over. Their next use makes them again. */
export async function sweepRateWindows({ read, write, clock }: Place): Promise<void> {
  const before = sql<number>`(${clock} * 1000000) - ${sql.lit(LONG_OVER)}`
  const isOver = await read((db) =>
    db.selectFrom('rate_windows').select('kind').where('updated_at', '<', before).limit(1).executeTakeFirst(),
  )
  if (isOver === undefined) return
  await write((tx) => tx.deleteFrom('rate_windows').where('updated_at', '<', before).execute())
}
