import { setTimeout as delay } from 'node:timers/promises'
import { StoreError } from '../store-error.js'
import type { StoreErrorCode } from '../store-error.js'

const BUSY = 5
const LOCKED = 6

/** Primary result codes of SQLite that are no bug, with advice. */
const RESULTS: Readonly<Record<number, { readonly code: StoreErrorCode; readonly advice: string }>> = {
  3: { code: 'unavailable', advice: 'is not permitted; give this user read and write access' },
  [BUSY]: { code: 'busy', advice: 'is locked by another process; end it or try again' },
  [LOCKED]: { code: 'busy', advice: 'is locked by another process; end it or try again' },
  8: { code: 'unavailable', advice: 'is read-only; make file and folder writable' },
  10: { code: 'unavailable', advice: 'could not be read or written; check the disk' },
  11: { code: 'corrupt', advice: 'is damaged; restore it from a backup' },
  13: { code: 'unavailable', advice: 'is on a full disk; free some space' },
  14: { code: 'unavailable', advice: 'could not be opened; check that it is a file in a writable folder' },
  22: { code: 'unavailable', advice: 'is too large for this disk; move it to another one' },
  26: { code: 'incompatible', advice: 'is not a SQLite database; name another file or remove this one' },
}

/** The primary result code of an error of `node:sqlite`, or undefined for any other error. */
function sqliteResult(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined
  return error.errcode & 0xff
}

export function isBusy(error: unknown): boolean {
  const result = sqliteResult(error)
  return result === BUSY || result === LOCKED
}

/** A StoreError for a failure of the disk or file; any other error, which is a bug, unchanged. */
export function asStoreError(error: unknown, path: string): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE') {
    return new StoreError(
      'closed',
      `The database ${path} was closed in the middle of its use; open it again`,
      error,
    )
  }
  const known = RESULTS[sqliteResult(error) ?? -1]
  if (known === undefined || !(error instanceof Error)) return error
  return new StoreError(known.code, `The database ${path} ${known.advice} (SQLite: ${error.message})`, error)
}

const FIRST_PAUSE = 5
/** With longer pauses a writer that does not pause would take the lock again and again. */
const LONGEST_PAUSE = 100

/**
 * Repeats `operation` while the database is locked, until `deadline` (milliseconds of `performance.now`); then throws the
 * error of the lock. SQLite's own busy timeout would block the event loop.
 */
export async function retryBusy<T>(operation: () => T, deadline: number): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      return operation()
    } catch (error) {
      if (!isBusy(error) || performance.now() + pause > deadline) throw error
    }
    await delay(pause * (0.5 + Math.random() / 2))
  }
}
