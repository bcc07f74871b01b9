/**
 * Owns: how transactions run on PostgreSQL. Retries after conflicts and lost connections, the number of concurrent
 * transactions of this process, and commit marks, which decide whether a commit happened whose answer was lost.
 *
 * Invariant: a transaction takes effect once, or its caller gets an error that says that it may have.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { changesIn, isFleeting, stopsIn } from '../changes.js'
import { createMutex, createWaitingLine } from '../mutex.js'
import type { Mutex } from '../mutex.js'
import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import type { Writer } from '../store.js'
import { runTransaction } from '../transaction.js'
import type { TransactionPlace } from '../transaction.js'
import { isConflict, isLost, isPassing, isUnknownTransaction } from './postgres-error.js'

/** How long a write that has lost too often waits for its turn: all others wait behind it. */
const TURN_LOCK_TIMEOUT = 500

/** How long a transaction that has its turn may be idle, for example because its process is suspended. */
const TURN_IDLE_TIMEOUT = 5_000

const FIRST_PAUSE = 5

/** A server restarts within seconds. */
const LONGEST_PAUSE = 500

/** A transaction that lost this often is too long for its competitors: on a busy machine shorter ones win each time, for minutes. */
const LOST_OFTEN = 6

/** Repeats `work` while it fails with a passing error, until `deadline` (milliseconds of `performance.now`). */
export async function retryPassing<T>(work: () => Promise<T>, deadline: number): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || performance.now() + pause > deadline) throw error
      await pauseFor(error, pause)
    }
  }
}

interface TransactorLimits {
  /** Connections for transactions. */
  readonly connections: number
  /** Milliseconds for one transaction with all its retries. */
  readonly patience: number
}

/**
 * Makes the function that runs transactions. They are SERIALIZABLE: `work` runs again after a conflict. A transaction takes
 * effect once, whatever happens to connection and server: if the answer to a commit is lost, its commit mark decides whether it
 * happened. A transaction that loses again and again gets a turn alone.
 */
export function createTransactor(
  place: TransactionPlace,
  { connections, patience }: TransactorLimits,
): <T>(work: (tx: Writer) => Promise<T>) => Promise<Committed<T>> {
  const lanes = createLanes()
  const inTurn = createConcurrency({ most: connections, isLoss: isConflict })
  return async (work) => {
    const deadline = performance.now() + patience
    let leave: (() => void) | undefined
    let lost = 0
    let tries = 0
    try {
      for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
        let tx: Writer | undefined
        try {
          // Every second time: if a hanging session holds the turn, the transaction still competes with the others.
          const alone = lost >= LOST_OFTEN && (tries += 1) % 2 === 1
          const onBegin = (one: Writer) => void (tx = one)
          return await inTurn(() => attempt(place, { work, alone, onBegin }, deadline), deadline)
        } catch (error) {
          if (!isPassing(error) || performance.now() + pause > deadline) throw error
          if (isConflict(error)) lost += 1
          const threadId = isConflict(error) && tx !== undefined ? firstOf(changesIn(tx)) : undefined
          // Transactions of this process that lost on one thread run one after the other: side by side all but one would lose again.
          if (threadId !== undefined && leave === undefined) leave = await lanes.enter(threadId, deadline)
          else await pauseFor(error, pause)
        }
      }
    } finally {
      leave?.()
    }
  }
}

function firstOf(threadIds: ReadonlySet<string>): string | undefined {
  for (const threadId of threadIds) return threadId
  return undefined
}

/** The pause is random because transactions that lost to the same winner would conflict again; it is short after a conflict. */
async function pauseFor(error: unknown, pause: number): Promise<void> {
  await delay((isConflict(error) ? Math.min(pause, 50) : pause) * (0.2 + Math.random()))
}

interface Committed<T> {
  readonly result: T
  /** The threads with new events or deltas. */
  readonly threadIds: ReadonlySet<string>
  /** The threads whose stop it stored. */
  readonly stopped: ReadonlySet<string>
}

interface Committing<T> extends Committed<T> {
  /** Null: nothing was written. `fleeting`: the writes may be lost, and have no mark. */
  readonly mark: CommitMark | 'fleeting' | null
}

interface Attempt<T> {
  readonly work: (tx: Writer) => Promise<T>
  /** No other transaction that changes a thread may commit before it. */
  readonly alone: boolean
  readonly onBegin: (tx: Writer) => void
}

async function attempt<T>(
  place: TransactionPlace,
  { work, alone, onBegin }: Attempt<T>,
  deadline: number,
): Promise<Committed<T>> {
  let committing: Committing<T> | undefined
  try {
    return await runTransaction(place, async (tx) => {
      onBegin(tx)
      // First, so that its snapshot is taken when it has its turn.
      if (alone) await takeTurn(tx)
      const result = await work(tx)
      // The statement is sent after the pipelined ones, and answered after them.
      const mark = isFleeting(tx) ? await commitSoon(tx) : await leaveMark(tx)
      committing = { result, threadIds: changesIn(tx), stopped: stopsIn(tx), mark }
      return committing
    })
  } catch (error) {
    if (committing === undefined || !isLost(error)) throw error
    // Assigned in the closure above, which the compiler does not follow.
    const done = committing as Committing<T>
    const { mark } = done
    // Fleeting writes may be repeated: readers skip duplicates.
    if (mark === 'fleeting') throw error
    if (mark === null || (await lookForMark(place.database, mark, deadline))) return done
    throw error
  }
}

/** @throws an error that is never retried if the server does not answer in time: the commit may have happened */
async function lookForMark(database: Kysely<Schema>, mark: CommitMark, deadline: number): Promise<boolean> {
  try {
    return await retryPassing(() => isCommitted(database, mark), deadline)
  } catch (error) {
    throw isPassing(error) ? undecidedError(error) : error
  }
}

/** The commit does not wait for the disk, which takes longer than all else. Others see it as soon as any commit. */
async function commitSoon(tx: Writer): Promise<'fleeting'> {
  await sql`set local synchronous_commit = off`.execute(tx)
  return 'fleeting'
}

/** Takes a lock that every transaction needs which changes a thread: keep it short. */
async function takeTurn(tx: Writer): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(TURN_LOCK_TIMEOUT)}`.execute(tx)
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(TURN_IDLE_TIMEOUT)}`.execute(tx)
  await sql`lock table threads in share row exclusive mode`.execute(tx)
  await sql`set local lock_timeout to default`.execute(tx)
}

/** The initial concurrency: a worker that has just started gets all waiting work at once. */
const FIRST = 4

/** Growth for each transaction without conflict, divided by the current number. */
const GROWTH = 0.05

const SHRINK = 0.8

/** Milliseconds after which a hanging transaction no longer counts. */
const LEASE = 1_000

interface Limits {
  /** The highest concurrency. */
  readonly most: number
  /** Whether the error is a conflict with another transaction. */
  readonly isLoss: (error: unknown) => boolean
}

/** @throws StoreError `busy` at the deadline (milliseconds of `performance.now`), and what `work` throws */
type InTurn = <T>(work: () => Promise<T>, deadline: number) => Promise<T>

/**
 * Adapts the number of concurrent transactions to conflicts: a fifth less after a conflict, slowly more without. Conflicting
 * transactions take longer side by side than one after the other; others profit from waiting for a distant database together.
 */
export function createConcurrency({ most, isLoss }: Limits): InTurn {
  const line = createWaitingLine(WAITED_TOO_LONG)
  let allowed = Math.min(FIRST, most)
  let inside = 0
  let shrunk = 0

  function admitWaiting(): void {
    while (inside < Math.floor(allowed)) {
      const next = line.next()
      if (next === undefined) return
      inside += 1
      next()
    }
  }

  /** Returns the function that gives the place back. */
  function lease(): () => void {
    let isInside = true
    const leave = (): void => {
      if (!isInside) return
      isInside = false
      clearTimeout(timer)
      inside -= 1
      admitWaiting()
    }
    const timer = setTimeout(leave, LEASE)
    return leave
  }

  return async (work, deadline) => {
    const turn = line.wait(deadline)
    admitWaiting()
    await turn
    const leave = lease()
    const before = shrunk
    try {
      const result = await work()
      allowed = Math.min(most, allowed + GROWTH / allowed)
      return result
    } catch (error) {
      // Transactions that ran at the same time lose together: that is one signal, not several.
      if (isLoss(error) && shrunk === before) {
        shrunk += 1
        allowed = Math.max(1, allowed * SHRINK)
      }
      throw error
    } finally {
      leave()
    }
  }
}

const WAITED_TOO_LONG =
  'Expected a turn to write within 30 s, but earlier writes of this process did not end: the database is slow, or away'

/** Queues by name. */
interface Lanes {
  /** Waits in the queue of that name; returns the function that leaves it. @throws StoreError `busy` at the deadline */
  enter(name: string, deadline: number): Promise<() => void>
}

function createLanes(): Lanes {
  const lanes = new Map<string, { readonly mutex: Mutex; users: number }>()

  return {
    async enter(name, deadline) {
      const lane = lanes.get(name) ?? { mutex: createMutex(), users: 0 }
      lanes.set(name, lane)
      lane.users += 1
      const forget = (): void => {
        lane.users -= 1
        if (lane.users === 0) lanes.delete(name)
      }
      try {
        await lane.mutex.acquire(deadline)
      } catch (error) {
        forget()
        throw error
      }
      return () => {
        lane.mutex.release()
        forget()
      }
    },
  }
}

/** Longer than any process, even a suspended one, checks what became of a commit. */
const COMMIT_MARK_AGE = 3_600_000_000

/**
 * Decides whether a commit happened whose answer was lost. The number of the transaction alone is not enough: a server that is killed
 * reuses the numbers of transactions that had not reached the disk, so the commit of another transaction could be taken for
 * ours. Therefore each transaction writes a row, which exists if and only if the rest of the transaction does.
 */
export interface CommitMark {
  readonly id: string
  readonly transaction: string
  /** By the server's clock, in microseconds. */
  readonly at: number
}

/** Milliseconds between looks, while a session may still be committing. */
const POLL = 5

const BATCH = 5_000n

/** Writes the mark, as the last statement of a transaction. Null for a transaction that has written nothing: it needs none. */
export async function leaveMark(tx: Writer): Promise<CommitMark | null> {
  const id = randomUUID()
  const { rows } = await sql<Omit<CommitMark, 'id'>>`
    insert into commits (id, committed_at)
    select ${id}, ${now} where pg_current_xact_id_if_assigned() is not null
    returning pg_current_xact_id()::text as transaction, committed_at as at`.execute(tx)
  return rows[0] === undefined ? null : { id, ...rows[0] }
}

/**
 * Waits until the transaction has ended: the session that lost its client may still be committing.
 * @throws `undecidedError` if the mark may have been deleted since, because the process was suspended for longer
 */
export async function isCommitted(database: Kysely<Schema>, mark: CommitMark): Promise<boolean> {
  let status = await transactionStatus(database, mark.transaction)
  for (; status === 'in progress'; status = await transactionStatus(database, mark.transaction))
    await delay(POLL)
  const { rows } = await sql<{ found: boolean; old: boolean }>`
    select exists (select from commits where id = ${mark.id}) as found,
      ${now} - ${mark.at}::bigint >= ${COMMIT_MARK_AGE}::bigint as old`.execute(database)
  const { found, old } = rows[0] ?? { found: false, old: true }
  if (!found && old && status !== 'aborted') throw undecidedError()
  return found
}

/** An error that is not passing: the caller must find out whether the work was done before it repeats it. */
function undecidedError(cause?: unknown): StoreError {
  return new StoreError(
    'unavailable',
    'Expected the database to say what became of a commit whose answer was lost, got no answer in time: it may be done',
    cause,
  )
}

/** The status of a transaction; null if the server has no record of it, also after a failover to a standby that was behind. */
export async function transactionStatus(
  database: Kysely<Schema>,
  transaction: string,
): Promise<string | null> {
  const query = sql<{ status: string | null }>`select pg_xact_status(${transaction}::xid8) as status`
  try {
    return (await query.execute(database)).rows[0]?.status ?? null
  } catch (error) {
    if (isUnknownTransaction(error)) return null
    throw error
  }
}

/** Deletes old marks, a batch at a time, so that progress is made however many there are. */
export async function forgetMarks(database: Kysely<Schema>): Promise<void> {
  for (let deleted = BATCH; deleted >= BATCH;) {
    const old = database
      .selectFrom('commits')
      .select('id')
      .where('committed_at', '<', sql<number>`${now} - ${COMMIT_MARK_AGE}::bigint`)
      .orderBy('committed_at')
      .limit(Number(BATCH))
      // Other processes delete marks too.
      .forUpdate()
      .skipLocked()
    deleted = (await database.deleteFrom('commits').where('id', 'in', old).executeTakeFirst()).numDeletedRows
  }
}

/** The clock of the server, which all processes share. */
const now = sql`(extract(epoch from now()) * 1000000)::bigint`
