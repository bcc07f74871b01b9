/** Transactions whose statements may be under way together: Kysely's own wait for each before the next one is sent. */
import { Transaction } from 'kysely'
import type { Dialect, Driver, Kysely, TransactionSettings } from 'kysely'

import { whenSettled } from './meanwhile.js'
import type { Schema } from './schema.js'
import type { Writer } from './store.js'
import { openSession } from './transaction-session.js'

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
