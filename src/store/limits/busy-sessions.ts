/**
 * The sessions that an account has at once: trees of threads with a run under way, or a message that waits.
 * Owns: the places of sessions, which a request takes before it makes a session busy.
 * Invariants: an account has at most as many places as its limit, over all processes, so that two requests at once cannot both take
 * the last one. A place is given to another session only when its own has come to rest and no request is about to wake it.
 */
import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Micros } from '../../protocol/time.js'
import type { Reader, Store, Writer } from '../store.js'

/** A session of an account. */
export interface Session {
  readonly account: string
  /** The root thread. */
  readonly threadId: string
}

type Place = Pick<Store, 'read' | 'write' | 'clock'>

/** A request that takes longer has died with its server: its session counts by its rows again. Microseconds. */
const ENTERING = 60_000_000

/** Takes a place for the session, or keeps its own; false: the account has no place. `leaveSession` follows. */
export async function enterSession(store: Place, session: Session, limit: number): Promise<boolean> {
  const now = microsecondsOf(store)
  if (await store.write((tx) => enter(tx, session, { limit, now }))) return true
  // Read on their own: the rows of threads in a transaction here would make their runs wait.
  const idle = await store.read((db) => listIdle(db, session.account, now))
  if (idle.length === 0) return false
  return store.write(async (tx) => {
    for (const seat of idle) await giveUp(tx, session.account, seat)
    return enter(tx, session, { limit, now })
  })
}

/** The request has made the session busy, or has failed. */
export async function leaveSession(store: Place, { account, threadId }: Session): Promise<void> {
  await store.write((tx) =>
    tx
      .updateTable('busy_sessions')
      .set((row) => ({ entering: row('entering', '-', 1) }))
      .where('account', '=', account)
      .where('thread_id', '=', threadId)
      .where('entering', '>', 0)
      .execute(),
  )
}

/** Gives up places of sessions that have come to rest. */
export async function sweepBusySessions(store: Place): Promise<void> {
  const now = microsecondsOf(store)
  const accounts = await store.read((db) =>
    db.selectFrom('busy_sessions').select('account').distinct().execute(),
  )
  for (const { account } of accounts)
    for (const seat of await store.read((db) => listIdle(db, account, now)))
      await store.write((tx) => giveUp(tx, account, seat))
}

type Now = RawBuilder<Micros>

function microsecondsOf({ clock }: Place): Now {
  return sql<Micros>`cast(${clock} * 1000000 as bigint)`
}

async function enter(
  tx: Writer,
  { account, threadId }: Session,
  { limit, now }: { readonly limit: number; readonly now: Now },
): Promise<boolean> {
  const places = await tx
    .selectFrom('busy_sessions')
    .select('thread_id')
    .where('account', '=', account)
    .execute()
  if (!places.some((place) => place.thread_id === threadId) && places.length >= limit) return false
  await tx
    .insertInto('busy_sessions')
    .values({ account, thread_id: threadId, entering: 1, entered_at: now })
    .onConflict((conflict) =>
      conflict
        .columns(['account', 'thread_id'])
        .doUpdateSet((row) => ({ entering: row('busy_sessions.entering', '+', 1), entered_at: now })),
    )
    .execute()
  return true
}

/** A place as it was read. */
interface Seat {
  readonly threadId: string
  readonly entering: number
  readonly enteredAt: Micros
}

/** The places whose sessions are at rest. */
async function listIdle(db: Reader, account: string, now: Now): Promise<readonly Seat[]> {
  const places = await db
    .selectFrom('busy_sessions')
    .select(['thread_id as threadId', 'entering', 'entered_at as enteredAt'])
    .where('account', '=', account)
    .where((row) =>
      row.or([row('entering', '=', 0), row('entered_at', '<', sql<Micros>`${now} - ${sql.lit(ENTERING)}`)]),
    )
    .execute()
  if (places.length === 0) return []
  const busy = await db
    .selectFrom('threads as thread')
    .select('thread.root_thread_id as root')
    .distinct()
    .where(
      'thread.root_thread_id',
      'in',
      places.map(({ threadId }) => threadId),
    )
    .where('thread.closed_at', 'is', null)
    .where((where) =>
      where.or([
        where.exists(
          where
            .selectFrom('runs')
            .select('runs.number')
            .whereRef('runs.thread_id', '=', 'thread.id')
            .where('runs.ended_at', 'is', null),
        ),
        where.exists(
          where
            .selectFrom('messages')
            .select('messages.id')
            .whereRef('messages.thread_id', '=', 'thread.id')
            .where('messages.position', 'is', null)
            .where('messages.status', '=', 'pending'),
        ),
      ]),
    )
    .execute()
  const roots = new Set(busy.map(({ root }) => root))
  return places.filter(({ threadId }) => !roots.has(threadId))
}

/** Not if a request has entered since. */
async function giveUp(tx: Writer, account: string, { threadId, entering, enteredAt }: Seat): Promise<void> {
  await tx
    .deleteFrom('busy_sessions')
    .where('account', '=', account)
    .where('thread_id', '=', threadId)
    .where('entering', '=', entering)
    .where('entered_at', '=', enteredAt)
    .execute()
}
