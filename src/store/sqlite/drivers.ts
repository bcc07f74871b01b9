import type { Driver } from 'kysely'

import { createMutex } from '../mutex.js'
import { retryBusy } from './retry-busy.js'
import type { SqliteConnection } from './connection.js'

/**
 * One connection, one transaction at a time, waiting up to `patience` ms for its turn and other processes; begun as a writer: a deferred transaction that turns into a writer
 * later fails at once when another process wrote in between.
 */
export function createWriterDriver(connection: SqliteConnection, patience: number): Driver {
  const mutex = createMutex()
  const { database } = connection
  let deadline = 0

  return {
    init: async () => {},
    async acquireConnection() {
      const until = performance.now() + patience
      await mutex.acquire(until)
      deadline = until
      return connection
    },
    beginTransaction: () => retryBusy(() => database.exec('begin immediate'), deadline),
    commitTransaction: async () => database.exec('commit'),
    async rollbackTransaction() {
      try {
        database.exec('rollback')
      } catch {
        // SQLite rolled back by itself (disk full, I/O error): the error that made it do so is the one to report.
      }
    },
    releaseConnection: async () => mutex.release(),
    /** Ends the writes that are in line. The handle is its opener's. */
    destroy: () => mutex.acquire(performance.now() + patience),
  }
}

/** One connection for all reads: each statement sees what was committed when it ran, and none waits for writers. */
export function createReaderDriver(connection: SqliteConnection): Driver {
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: refuseTransaction,
    commitTransaction: refuseTransaction,
    rollbackTransaction: refuseTransaction,
    releaseConnection: async () => {},
    destroy: async () => {},
  }
}

async function refuseTransaction(): Promise<void> {
  throw new Error('Readers have no transactions: use store.write')
}
