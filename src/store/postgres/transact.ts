import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import { LIMITS } from '../../protocol/limits.js'
import { changesIn, isFleeting } from '../changes.js'
import { createMutex, createWaitingLine } from '../mutex.js'
import type { Mutex } from '../mutex.js'
import type { Schema } from '../schema.js'
import type { Writer } from '../store.js'
import { runTransaction } from '../transaction.js'
import type { TransactionPlace } from '../transaction.js'
import { isCommitted, leaveMark, undecided } from './commit-marks.js'
import type { CommitMark } from './commit-marks.js'
import { isConflict, isLost, isPassing } from './postgres-error.js'

const FIRST_PAUSE = 5
/** A server that restarts is back within seconds. */
const LONGEST_PAUSE = 500
/** By then it is not bad luck: on a busy machine shorter transactions come between each time, for minutes. */
const LOST_OFTEN = 6

/** Runs `work` until it does not fail in passing, or until `deadline` (milliseconds of `performance.now`). */
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
  /** How many of them there are for transactions. */
  readonly connections: number
  /** Milliseconds that one may take in all. */
  readonly patience: number
}

/**
 * Makes what does all of `work` or nothing, as if no other transaction ran meanwhile: SERIALIZABLE, so what `work` read is
 * still so when it commits, and it runs again when it is not. Whatever happens to connection and server, it is done once: of
 * a commit whose answer was lost its mark is looked for. One that lost to others again and again goes alone.
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
          // Each second time: where its turn does not come, as a session that hangs has not ended, it tries on among others.
          const alone = lost >= LOST_OFTEN && (tries += 1) % 2 === 1
          const begun = (one: Writer) => void (tx = one)
          return await inTurn(() => attempt(place, { work, alone, begun }, deadline), deadline)
        } catch (error) {
          if (!isPassing(error) || performance.now() + pause > deadline) throw error
          if (isConflict(error)) lost += 1
          const threadId = isConflict(error) && tx !== undefined ? firstOf(changesIn(tx)) : undefined
          // Those of this process that lost for one thread go one after the other: side by side all but one lose again.
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

/** Those that lost to the same winner would meet again; a lost conflict needs no long pause. */
async function pauseFor(error: unknown, pause: number): Promise<void> {
  await delay((isConflict(error) ? Math.min(pause, 50) : pause) * (0.2 + Math.random()))
}

interface Committed<T> {
  readonly result: T
  /** The threads whose events or deltas it appended to. */
  readonly threadIds: ReadonlySet<string>
}

interface Committing<T> extends Committed<T> {
  /** Null: nothing was written. `fleeting`: nothing that anybody counts on, which leaves no mark. */
  readonly mark: CommitMark | 'fleeting' | null
}

interface Attempt<T> {
  readonly work: (tx: Writer) => Promise<T>
  /** No other one that changes a thread may commit meanwhile. */
  readonly alone: boolean
  readonly begun: (tx: Writer) => void
}

async function attempt<T>(
  place: TransactionPlace,
  { work, alone, begun }: Attempt<T>,
  deadline: number,
): Promise<Committed<T>> {
  let committing: Committing<T> | undefined
  try {
    return await runTransaction(place, async (tx) => {
      begun(tx)
      // First of all: what it sees is what is there when it has its turn.
      if (alone) await takeTurn(tx)
      const result = await work(tx)
      // Sent behind what goes on meanwhile, whose answers come before its own.
      const mark = isFleeting(tx) ? await commitSoon(tx) : await leaveMark(tx)
      committing = { result, threadIds: changesIn(tx), mark }
      return committing
    })
  } catch (error) {
    if (committing === undefined || !isLost(error)) throw error
    // Assigned in the closure above, which the compiler does not follow.
    const done = committing as Committing<T>
    const { mark } = done
    // What is written twice is read once.
    if (mark === 'fleeting') throw error
    if (mark === null || (await lookForMark(place.database, mark, deadline))) return done
    throw error
  }
}

/** @throws what is never repeated, when the server does not say: the work of a commit that nobody knows of may be done */
async function lookForMark(database: Kysely<Schema>, mark: CommitMark, deadline: number): Promise<boolean> {
  try {
    return await retryPassing(() => isCommitted(database, mark), deadline)
  } catch (error) {
    throw isPassing(error) ? undecided(error) : error
  }
}

/** The commit does not wait for the disk, which takes longer than all else: others see it as soon as any. */
async function commitSoon(tx: Writer): Promise<'fleeting'> {
  await sql`set local synchronous_commit = off`.execute(tx)
  return 'fleeting'
}

/** From here on no other transaction that changes a thread commits before this one: short, for all of them wait. */
async function takeTurn(tx: Writer): Promise<void> {
  await sql`set local lock_timeout = ${sql.lit(LIMITS.databaseTurn)}`.execute(tx)
  await sql`set local idle_in_transaction_session_timeout = ${sql.lit(LIMITS.databaseTurnIdle)}`.execute(tx)
  await sql`lock table threads in share row exclusive mode`.execute(tx)
  await sql`set local lock_timeout to default`.execute(tx)
}

/** Where it begins: a worker that has just started meets all that waited for it at once. */
const FIRST = 4
/** For each transaction that won, shared by those inside. */
const GROWTH = 0.05
const SHRINK = 0.8
/** Milliseconds: one that hangs keeps nobody out for longer. */
const LEASE = 1_000

interface Limits {
  /** Side by side. */
  readonly most: number
  /** Whether that is how a transaction fails which lost to another one. */
  readonly isLoss: (error: unknown) => boolean
}

/** @throws StoreError `busy` at the deadline (milliseconds of `performance.now`), and what `work` throws */
type InTurn = <T>(work: () => Promise<T>, deadline: number) => Promise<T>

/**
 * As many at a time as do not lose to each other: a fifth less when some lose, slowly more while all win. Those that
 * meet take longer side by side than one after the other; those that do not may wait for a database far away together.
 */
export function createConcurrency({ most, isLoss }: Limits): InTurn {
  const line = createWaitingLine(WAITED_TOO_LONG)
  let allowed = Math.min(FIRST, most)
  let inside = 0
  let shrunk = 0

  function letIn(): void {
    while (inside < Math.floor(allowed)) {
      const next = line.next()
      if (next === undefined) return
      inside += 1
      next()
    }
  }

  /** Answers how to leave. */
  function lease(): () => void {
    let isInside = true
    const leave = (): void => {
      if (!isInside) return
      isInside = false
      clearTimeout(timer)
      inside -= 1
      letIn()
    }
    const timer = setTimeout(leave, LEASE)
    return leave
  }

  return async (work, deadline) => {
    const turn = line.wait(deadline)
    letIn()
    await turn
    const leave = lease()
    const before = shrunk
    try {
      const result = await work()
      allowed = Math.min(most, allowed + GROWTH / allowed)
      return result
    } catch (error) {
      // Those that were inside with one that has lost lose with it: that is one sign, not many.
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

/** Lines of those who want the same thing. */
interface Lanes {
  /** Waits in line; answers how to leave it. @throws StoreError `busy` at the deadline */
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
