import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Kysely } from 'kysely'
import type { Schema } from '../schema.js'
import { StoreError } from '../store-error.js'
import type { Writer } from '../store.js'
import { isUnknownTransaction } from './postgres-error.js'

/** Longer than any process, even a suspended one, checks what became of a commit. */
const COMMIT_MARK_AGE = 3_600_000_000

/**
 * Tells whether a commit happened whose answer was lost. The number of the transaction alone cannot: a server that is killed
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
 * Waits until the server knows: the session that lost its client may still be committing.
 * @throws `undecided` if the mark may have been deleted since, because the process was suspended for longer
 */
export async function isCommitted(database: Kysely<Schema>, mark: CommitMark): Promise<boolean> {
  let status = await transactionStatus(database, mark.transaction)
  for (; status === 'in progress'; status = await transactionStatus(database, mark.transaction))
    await delay(POLL)
  const { rows } = await sql<{ found: boolean; old: boolean }>`
    select exists (select from commits where id = ${mark.id}) as found,
      ${now} - ${mark.at}::bigint >= ${COMMIT_MARK_AGE}::bigint as old`.execute(database)
  const { found, old } = rows[0] ?? { found: false, old: true }
  if (!found && old && status !== 'aborted') throw undecided()
  return found
}

/** An error that is not passing: the caller must find out whether the work was done before it repeats it. */
export function undecided(cause?: unknown): StoreError {
  return new StoreError(
    'unavailable',
    'Expected the database to say what became of a commit whose answer was lost, got no answer in time: it may be done',
    cause,
  )
}

/** The status of a transaction; null if the server does not know it, also after a failover to a standby that was behind. */
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
