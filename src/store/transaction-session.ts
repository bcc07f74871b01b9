import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'

/** A connection in a transaction. */
export interface TransactionSession {
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
