/**
 * Transactions whose statements may be under way together. Kysely's own wait for each statement before the next one is
 * sent; these run in the order in which they were made all the same, for both drivers take them in that order.
 */
import { Transaction } from 'kysely'
import type { DatabaseConnection, Dialect, Driver, Kysely, TransactionSettings } from 'kysely'

import { whenSettled } from './meanwhile.js'
import type { Schema } from './schema.js'
import type { Writer } from './store.js'

export interface TransactionPlace {
  readonly database: Kysely<Schema>
  readonly dialect: Dialect
  /** That of the dialect. */
  readonly driver: Driver
  readonly settings: TransactionSettings
}

/** All of `work` or nothing. @throws what failed first in it */
export async function runTransaction<T>(
  { database, dialect, driver, settings }: TransactionPlace,
  work: (tx: Writer) => Promise<T>,
): Promise<T> {
  const executor = database.getExecutor()
  return executor.provideConnection(async (connection) => {
    const session = openSession(connection)
    const own = executor.withConnectionProvider({
      provideConnection: (consumer) => consumer(session.connection),
    })
    const tx = new Transaction<Schema>({ config: { dialect }, dialect, driver, executor: own })
    await driver.beginTransaction(connection, settings)
    try {
      const result = await worked(tx, work)
      session.end()
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

interface Session {
  readonly connection: DatabaseConnection
  /** From here on no statement runs: it would run outside of the transaction. */
  end(): void
}

/**
 * A connection in a transaction. What fails first in it is what every later statement fails by: PostgreSQL runs none of
 * these, and says only that.
 */
function openSession(connection: DatabaseConnection): Session {
  let failure: { readonly error: unknown } | undefined
  let ended = false
  return {
    connection: {
      async executeQuery(query) {
        if (ended) throw new Error('Expected a statement before the end of its transaction, got one after it')
        if (failure !== undefined) throw failure.error
        try {
          return await connection.executeQuery(query)
        } catch (error) {
          failure ??= { error }
          throw failure.error
        }
      },
      streamQuery: (query, size) => connection.streamQuery(query, size),
    },
    end: () => {
      ended = true
    },
  }
}
