/** Transactions whose statements may be under way together: Kysely's own wait for each before the next one is sent. */
import { Transaction } from 'kysely'
import type {
  CompiledQuery,
  DatabaseConnection,
  Dialect,
  Driver,
  Kysely,
  QueryResult,
  TransactionSettings,
} from 'kysely'
import type { Schema } from './schema.js'
import type { Writer } from './store.js'

export interface TransactionPlace {
  readonly database: Kysely<Schema>
  readonly dialect: Dialect
  /** That of the dialect. */
  readonly driver: Driver
  readonly settings: TransactionSettings
  /** Whether a statement is sent before the one in front of it is answered. */
  readonly pipelined: boolean
}

/** All of `work` or nothing. @throws what failed first in it */
export async function runTransaction<T>(
  { database, dialect, driver, settings, pipelined }: TransactionPlace,
  work: (tx: Writer) => Promise<T>,
): Promise<T> {
  const executor = database.getExecutor()
  return executor.provideConnection(async (connection) => {
    const session = openSession(connection, { pipelined })
    const own = executor.withConnectionProvider({
      provideConnection: (consumer) => consumer(session.connection),
    })
    const tx = new Transaction<Schema>({ config: { dialect }, dialect, driver, executor: own })
    await driver.beginTransaction(connection, settings)
    try {
      const result = await worked(tx, work)
      const failure = session.end()
      if (failure !== undefined) throw failure.error
      await driver.commitTransaction(connection)
      return result
    } catch (error) {
      session.end()
      // If that fails, the driver gives the connection up, and the database rolls back by itself.
      await driver.rollbackTransaction(connection).catch(() => undefined)
      throw error
    }
  })
}

/** Of what goes on meanwhile, what was begun first fails first, whoever hears of it first: the rest may fail by it. */
async function worked<T>(tx: Writer, work: (tx: Writer) => Promise<T>): Promise<T> {
  try {
    return await work(tx)
  } finally {
    await whenSettled(tx)
  }
}

/** A connection in a transaction. */
interface TransactionSession {
  readonly connection: DatabaseConnection
  /** From here on no statement runs: it would run outside of the transaction. Answers what failed first, if anything did. */
  end(): { readonly error: unknown } | undefined
}

type Run = <R>(query: CompiledQuery) => Promise<QueryResult<R>>

/**
 * Statements run in the order in which they are made. What fails first is what every later one fails by: PostgreSQL runs
 * none of these and says only that; SQLite may have rolled back by itself, and would run them outside of the transaction.
 */
export function openSession(
  connection: DatabaseConnection,
  { pipelined }: { readonly pipelined: boolean },
): TransactionSession {
  let failure: { readonly error: unknown } | undefined
  let ended = false

  const run: Run = async (query) => {
    if (ended) throw new Error('Expected a statement before the end of its transaction, got one after it')
    if (failure !== undefined) throw failure.error
    try {
      return await connection.executeQuery(query)
    } catch (error) {
      failure ??= { error }
      throw failure.error
    }
  }
  return {
    connection: {
      executeQuery: pipelined ? behindTheFirst(run) : oneByOne(run),
      streamQuery: (query, size) => connection.streamQuery(query, size),
    },
    end() {
      ended = true
      return failure
    },
  }
}

/** A statement that comes meanwhile waits for those before it. */
function oneByOne(run: Run): Run {
  let last: Promise<unknown> = Promise.resolve()
  return <R>(query: CompiledQuery) => {
    const result = last.then(() => run<R>(query))
    last = result.catch(() => undefined)
    return result
  }
}

/**
 * The first statement begins the transaction: until it is answered reads may go too, and all else waits, for the beginning
 * may fail, and what was sent behind it would be done outside of a transaction. Then nothing waits for an answer any more.
 */
function behindTheFirst(run: Run): Run {
  let begun = false
  let waiting: (() => void)[] | null = null

  /** All in one go: whoever comes next comes behind them. */
  function sendWaiting(): void {
    const held = waiting ?? []
    waiting = null
    for (const send of held) send()
  }

  return <R>(query: CompiledQuery) => {
    if (!begun) {
      begun = true
      waiting = []
      const first = run<R>(query)
      first.then(sendWaiting, sendWaiting)
      return first
    }
    if (waiting === null || (waiting.length === 0 && query.query.kind === 'SelectQueryNode'))
      return run<R>(query)
    return new Promise<QueryResult<R>>((resolve, reject) => {
      waiting?.push(() => void run<R>(query).then(resolve, reject))
    })
  }
}

const begun = new WeakMap<Writer, Promise<unknown>[]>()

/**
 * Lets a transaction go on while a write of it is under way: statements run in the order in which they are made, and it
 * commits only when all of these have succeeded. So a database at the other end of a wire is not waited for write by write.
 */
export function meanwhile(tx: Writer, work: Promise<unknown>): void {
  // Asked again by `whenSettled`: until then nobody else listens.
  work.catch(() => undefined)
  const works = begun.get(tx)
  if (works === undefined) begun.set(tx, [work])
  else works.push(work)
}

/** Waits for all of it, also for what is begun until then. @throws what failed, of several what was begun first */
async function whenSettled(tx: Writer): Promise<void> {
  const works = begun.get(tx) ?? []
  let settled = 0
  while (settled < works.length) {
    const outcomes = await Promise.allSettled(works.slice(settled))
    settled += outcomes.length
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
}
