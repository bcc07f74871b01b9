/**
 * Owns: how the statements of one transaction reach the connection. Kysely's own transactions await the answer to each
 * statement before they send the next one; here a write can be pipelined (`pipeline`), so that a database at the other
 * end of a network costs one round trip for several writes; the text of one that runs often is built once (`prepared`).
 *
 * Does not own: isolation levels, retries of conflicts and commit marks (the drivers), nor what is written.
 *
 * Invariants:
 * - Statements run in the order in which they are made.
 * - A transaction commits only after every pipelined statement has succeeded.
 * - After the first failure no further statement runs, and the transaction fails with that first error: later errors are
 *   consequences of it.
 * - No statement is sent behind the beginning of a transaction before the beginning is acknowledged, and none after the end.
 */
import { PostgresAdapter, Transaction } from 'kysely'
import type {
  CompiledQuery,
  DatabaseConnection,
  Dialect,
  DialectAdapter,
  Driver,
  Kysely,
  QueryResult,
  TransactionSettings,
} from 'kysely'
import type { Schema } from './schema.js'
import type { Reader, Writer } from './store.js'

export interface TransactionPlace {
  readonly database: Kysely<Schema>
  readonly dialect: Dialect
  /** The driver of `dialect`. */
  readonly driver: Driver
  readonly settings: TransactionSettings
  /** Whether a statement may be sent before the previous one is answered. */
  readonly pipelined: boolean
}

/** Commits all of `work` or nothing. @throws the first error of its statements */
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
    connections.set(tx, session.connection)
    await driver.beginTransaction(connection, settings)
    try {
      const result = await runAndAwaitPipelined(tx, work)
      const failure = session.end()
      if (failure !== undefined) throw failure.error
      await driver.commitTransaction(connection)
      return result
    } catch (error) {
      session.end()
      // If the rollback fails, the driver drops the connection, and the database rolls back on its own.
      await driver.rollbackTransaction(connection).catch(() => undefined)
      throw error
    }
  })
}

/** If several pipelined statements fail, rethrows the earliest error: the later ones are usually its consequences. */
async function runAndAwaitPipelined<T>(tx: Writer, work: (tx: Writer) => Promise<T>): Promise<T> {
  try {
    return await work(tx)
  } finally {
    await awaitPipelined(tx)
  }
}

/** The connection of one transaction. */
interface TransactionSession {
  readonly connection: DatabaseConnection
  /** Refuses further statements, which would run outside of the transaction. Returns the first failure, if there was one. */
  end(): { readonly error: unknown } | undefined
}

type Run = <R>(query: CompiledQuery) => Promise<QueryResult<R>>

/**
 * Runs statements in the order in which they are made, and fails every later one with the first error. PostgreSQL would
 * refuse the later ones without naming the cause; SQLite may have rolled back on its own and would run them outside of the
 * transaction.
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

/** Sends each statement after the answer to the previous one. */
function oneByOne(run: Run): Run {
  let last: Promise<unknown> = Promise.resolve()
  let unanswered = 0
  const answered = (): void => void (unanswered -= 1)
  return <R>(query: CompiledQuery) => {
    const result = unanswered === 0 ? run<R>(query) : last.then(() => run<R>(query))
    unanswered += 1
    last = result.then(answered, answered)
    return result
  }
}

/**
 * The first statement also begins the transaction. Until it is answered, only reads are sent: if the beginning fails, a
 * write behind it would run outside of a transaction. Afterwards no statement waits for the answer to another one.
 */
function behindTheFirst(run: Run): Run {
  let begun = false
  let waiting: (() => void)[] | null = null

  /** Sends all at once, so that a later statement cannot overtake them. */
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

const pipelinedStatements = new WeakMap<Writer, Promise<unknown>[]>()

/**
 * Pipelines a statement: the transaction goes on without its result, and the commit awaits all pipelined statements.
 * Use it where the code that follows needs no result: a rejection still rolls the transaction back at its commit.
 */
export function pipeline(tx: Writer, statement: Promise<unknown>): void {
  // `awaitPipelined` rethrows it; until then a rejection must not count as unhandled.
  statement.catch(() => undefined)
  const statements = pipelinedStatements.get(tx)
  if (statements === undefined) pipelinedStatements.set(tx, [statement])
  else statements.push(statement)
}

/** Awaits all pipelined statements, also those that are added while it waits. @throws the earliest error */
async function awaitPipelined(tx: Writer): Promise<void> {
  const statements = pipelinedStatements.get(tx) ?? []
  let settled = 0
  while (settled < statements.length) {
    const outcomes = await Promise.allSettled(statements.slice(settled))
    settled += outcomes.length
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }
}

/** Whether transactions lock single rows. Elsewhere one transaction writes at a time, and what it reads stays as it is until it ends. */
export function locksRows(db: Reader): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter
}

type Value = string | number | null

interface Compilable<Row> {
  compile(db: Reader): CompiledQuery<Row>
}

/**
 * A statement that runs often: its text is built once for each database and number of values, because that costs more than running it.
 * `build` uses each of the values once, in their order, and nothing else that changes.
 */
export function prepared<Row>(
  build: (values: readonly Value[], db: Reader) => Compilable<Row>,
): (db: Reader, values: readonly Value[]) => Promise<readonly Row[]> {
  const compile = compileOnce(build)
  return async (db, values) => (await execute(db, compile(db, values))).rows
}

/** The same of a write that returns no rows, but the number of those that it has changed. */
export function preparedWrite(
  build: (values: readonly Value[], tx: Writer) => Compilable<unknown>,
): (tx: Writer, values: readonly Value[]) => Promise<number> {
  const compile = compileOnce(build)
  return async (tx, values) => Number((await execute(tx, compile(tx, values))).numAffectedRows ?? 0)
}

function compileOnce<Row, Db extends Reader>(
  build: (values: readonly Value[], db: Db) => Compilable<Row>,
): (db: Db, values: readonly Value[]) => CompiledQuery<Row> {
  const texts = new WeakMap<DialectAdapter, Map<number, CompiledQuery<Row>>>()
  return (db, values) => {
    const { adapter } = db.getExecutor()
    const known = texts.get(adapter) ?? new Map<number, CompiledQuery<Row>>()
    texts.set(adapter, known)
    const compiled = known.get(values.length) ?? build(values, db).compile(db)
    known.set(values.length, compiled)
    return { ...compiled, parameters: values }
  }
}

/** The connections of transactions. A statement that is compiled needs nothing else of Kysely, whose executor takes as long as SQLite. */
const connections = new WeakMap<Reader, DatabaseConnection>()

function execute<Row>(db: Reader, query: CompiledQuery<Row>): Promise<QueryResult<Row>> {
  return (connections.get(db) ?? db.getExecutor()).executeQuery<Row>(query)
}
