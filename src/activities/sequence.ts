/**
 * Several operations of one activity, one behind the other, and transactions that are one because nothing comes between them.
 * Owns: that an operation begins in the transaction that ends the one before it, and that only the attempt at work begins one.
 * Does not own: what comes next (`run-ahead.ts`), and the life of an operation (`operation.ts`).
 * Invariants:
 * - A transaction with the end of one operation and the beginning of the next one waits for its own statements only: if there is
 *   anything else before the beginning, the code of a user above all, it commits without it.
 * - What fails in the beginning takes nothing from the end: that is committed alone then.
 * - Behind its beginning an operation goes on only when the one before it has returned.
 */
import type { Context as ActivityContext } from '@temporalio/activity'

import { failure } from '../protocol/failures.js'
import { findOperation, moveSchedule } from '../store/operations.js'
import type { Reader, Store, Writer } from '../store/store.js'
import { findRun } from '../store/threads/runs.js'
import { Context, log, readScheduledTime } from './temporal-activity.js'
import { errorFields, readThrown } from './thrown.js'

interface Precedent {
  readonly id: string
  readonly run: number
}

/** The last operation that each activity has finished; only one that does several has one. */
const precedents = new WeakMap<ActivityContext, Precedent>()

/**
 * An activity that does several operations begins the next one only while its run is open and no later attempt is at work: that
 * one has taken the last finished operation over before it began anything, or takes it over now (T1). Where Temporal makes no
 * other attempt, the workflow ends the run.
 * @throws `Operation.Stale`
 */
export async function holdPrecedent(tx: Writer, { threadId }: { readonly threadId: string }): Promise<void> {
  const precedent = precedents.get(Context.current())
  if (precedent === undefined) return
  const { id, run: number } = precedent
  const [last, run] = await Promise.all([findOperation(tx, threadId, id), findRun(tx, { threadId, number })])
  if (run?.ended_at != null) throw failure('Operation.Stale')
  const scheduledAt = readScheduledTime()
  const holder = last?.scheduled_at ?? null
  if (holder === null || holder === scheduledAt) return
  if (holder > scheduledAt) throw failure('Operation.Stale')
  await moveSchedule(tx, { threadId, id, scheduledAt })
}

/** What follows an operation. */
interface Successor {
  /** Begins it in the transaction that ends the operation, whose answer is known by now. A transaction that is repeated calls again. */
  begin(tx: Writer, answer: unknown): Promise<void>
  /** That transaction has committed. */
  committed(): void
}

const successors = new WeakMap<ActivityContext, { readonly id: string; readonly successor: Successor }>()

/** An operation and what may follow it. */
interface Sequence<Answer, Following, Result> {
  readonly store: Store
  readonly operation: Precedent
  /** Finds what follows, by the answer of the operation. It reads within a transaction, or by itself. */
  readonly find: (answer: Answer, read: Store['read']) => Promise<Following | null>
  /** Begins it. It is called again if its transaction is repeated. */
  readonly begin: (following: Following, store: Store) => Promise<Result>
}

interface Done<Answer, Following, Result> {
  readonly answer: Answer
  readonly next: {
    readonly following: Following
    readonly result: Promise<Result>
    /** Lets it go on behind its beginning: what came before it has ended. */
    readonly release: () => void
  } | null
}

/** Does an operation. What follows begins in the transaction that ends it, or else behind it. */
export async function doBeforeNext<Answer, Following, Result>(
  { store, operation, find, begin }: Sequence<Answer, Following, Result>,
  work: () => Promise<Answer>,
): Promise<Done<Answer, Following, Result>> {
  const joined: { next: Done<Answer, Following, Result>['next']; isCommitted: boolean } = {
    next: null,
    isCommitted: false,
  }
  const start = (following: Following, own: Store): Promise<Result> => {
    precedents.set(Context.current(), operation)
    return begin(following, own)
  }
  const { id } = operation
  const successor: Successor = {
    async begin(tx, answer) {
      joined.next = null
      // The answer of this operation, which its own transaction has made.
      const following = await find(answer as Answer, (read) => read(tx))
      if (following === null) return
      const { begun, result, release } = joinTransaction(store, tx, (own) => start(following, own))
      joined.next = { following, result, release }
      await begun
    },
    committed() {
      joined.isCommitted = true
    },
  }
  successors.set(Context.current(), { id, successor })
  const answer = await work()
  if (joined.isCommitted) return { answer, next: joined.next }
  try {
    const following = await find(answer, (read) => store.read(read))
    if (following === null) return { answer, next: null }
    return { answer, next: { following, result: start(following, store), release: () => undefined } }
  } catch (error) {
    log.warn('An activity could not go on by itself.', { ...errorFields(readThrown(error)) })
    return { answer, next: null }
  }
}

/** The work of a transaction that ends an operation, committed with the beginning of what follows it. */
export async function writeWithSuccessor<T>(
  store: Store,
  { id }: { readonly id: string },
  work: (tx: Writer) => Promise<T>,
): Promise<T> {
  const known = successors.get(Context.current())
  if (known?.id !== id) return store.write(work)
  const { successor } = known
  let beginning = false
  try {
    const answer = await store.write(async (tx) => {
      beginning = false
      const ending = await work(tx)
      beginning = true
      await successor.begin(tx, ending)
      beginning = false
      return ending
    })
    successor.committed()
    return answer
  } catch (error) {
    if (!beginning) throw error
    return store.write(work)
  }
}

/** Work whose first transaction is part of an open one, if nothing but reads comes before it. */
interface Joined<T> {
  /** Its writes are in the open transaction, or it will make none there. @throws what its transaction has thrown */
  readonly begun: Promise<void>
  readonly result: Promise<T>
  /** Lets it go on behind the open transaction, which has committed. Where that has not, it stays where it is. */
  readonly release: () => void
}

/** Starts work inside an open transaction. */
function joinTransaction<T>(store: Store, tx: Writer, start: (store: Store) => Promise<T>): Joined<T> {
  let release = (): void => undefined
  let haveBegun = release
  let haveFailed: (error: unknown) => void = release
  const released = new Promise<void>((resolve) => (release = resolve))
  const begun = new Promise<void>((resolve, reject) => {
    haveBegun = resolve
    haveFailed = reject
  })
  let inside = true
  let reads = 0
  let look = setImmediate(leaveIfIdle)

  function leave(): void {
    clearImmediate(look)
    inside = false
    haveBegun()
  }

  /** No statement of its own is on the way, and yet it has not gone on: it waits for something else. */
  function leaveIfIdle(): void {
    if (inside && reads === 0) leave()
  }

  async function read<R>(work: (db: Reader) => Promise<R>): Promise<R> {
    reads += 1
    try {
      return await work(tx)
    } finally {
      reads -= 1
      clearImmediate(look)
      look = setImmediate(leaveIfIdle)
    }
  }

  async function write<R>(work: (own: Writer) => Promise<R>): Promise<R> {
    inside = false
    clearImmediate(look)
    try {
      const result = await work(tx)
      haveBegun()
      await released
      return result
    } catch (error) {
      haveFailed(error)
      await released
      throw error
    }
  }

  const behind = async <R>(work: () => Promise<R>): Promise<R> => {
    await released
    return work()
  }
  const joined = delegate(store, {
    read: (work) => (inside ? read(work) : behind(() => store.read(work))),
    write: (work) => (inside ? write(work) : behind(() => store.write(work))),
    writeLocked: (work) => {
      // It must not wait for locks inside of the open transaction.
      if (inside) leave()
      return behind(() => store.writeLocked(work))
    },
  })
  const result = start(joined)
  result.then(leave, leave)
  return { begun, result, release }
}

/** The work of a transaction whose result is known before it runs, unless something unusual has happened. */
interface Foreseen<T> {
  readonly work: (tx: Writer) => Promise<T>
  readonly isForeseen: (result: T) => boolean
}

/** A deferred transaction has come to another result than the one that was foreseen; it is committed alone. */
export class Unforeseen<T> extends Error {
  readonly result: T

  constructor(result: T) {
    super('A transaction has come to another result than the one that was foreseen.')
    this.result = result
  }
}

/**
 * A store whose first write begins with this work, in the same transaction.
 * @throws `Unforeseen`, from that write, with the result of the work, which is committed without the write
 */
export function deferTransaction<T>(store: Store, { work: before, isForeseen }: Foreseen<T>): Store {
  let isDone = false
  return delegate(store, {
    read: (work) => store.read(work),
    async write<R>(work: (tx: Writer) => Promise<R>): Promise<R> {
      if (isDone) return store.write(work)
      const outcome = await store.write(async (tx) => {
        const result = await before(tx)
        return isForeseen(result) ? { made: await work(tx) } : { unforeseen: result }
      })
      isDone = true
      if ('unforeseen' in outcome) throw new Unforeseen(outcome.unforeseen)
      return outcome.made
    },
    writeLocked: (work) => store.writeLocked(work),
  })
}

/** A store that reads and writes its database in another way. */
function delegate(store: Store, access: Pick<Store, 'read' | 'write' | 'writeLocked'>): Store {
  return {
    ...access,
    id: store.id,
    clock: store.clock,
    locksRows: store.locksRows,
    blobs: store.blobs,
    secrets: store.secrets,
    readAllEvents: (page) => store.readAllEvents(page),
    readEventEnds: () => store.readEventEnds(),
    readCursorBefore: (event) => store.readCursorBefore(event),
    watch: (threadId, listener) => store.watch(threadId, listener),
    watchStops: (threadId, listener) => store.watchStops(threadId, listener),
    close: () => store.close(),
  }
}
