import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'
import type { Kysely } from 'kysely'

import { LIMITS } from '../../protocol/limits.js'
import type { Schema } from '../schema.js'
import type { Writer } from '../store.js'
import { isUnknownTransaction } from './postgres-error.js'

/**
 * What tells a commit whose answer was lost from one that never was. The transaction's number alone does not: a server that is
 * killed gives the numbers of transactions that had not reached the disk again, and one of another's commits would be taken
 * for ours. So a row is written with all else, and is there if all else is.
 */
export interface CommitMark {
  readonly id: string
  readonly transaction: string
}

/** While a session may still be at it. */
const POLL = 5

/** The last statement of a transaction. Null: it has written nothing, and there is nothing to be in doubt of. */
export async function leaveMark(tx: Writer): Promise<CommitMark | null> {
  const id = randomUUID()
  const { rows } = await sql<{ transaction: string }>`
    insert into commits (id, committed_at)
    select ${id}, ${now} where pg_current_xact_id_if_assigned() is not null
    returning pg_current_xact_id()::text as transaction`.execute(tx)
  return rows[0] === undefined ? null : { id, transaction: rows[0].transaction }
}

/** Waits until the server knows: the session that lost its client may still be at it. */
export async function isCommitted(database: Kysely<Schema>, mark: CommitMark): Promise<boolean> {
  while ((await transactionStatus(database, mark.transaction)) === 'in progress') await delay(POLL)
  const row = await database.selectFrom('commits').select('id').where('id', '=', mark.id).executeTakeFirst()
  return row !== undefined
}

/** What the server knows of it; null: nothing, also after a failover to a standby that was behind. */
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

/** Deletes those that nobody asks for any more. */
export async function forgetMarks(database: Kysely<Schema>): Promise<void> {
  await database
    .deleteFrom('commits')
    .where('committed_at', '<', sql<number>`${now} - ${LIMITS.commitMarkAge * 1_000}::bigint`)
    .execute()
}

/** By one clock, the server's. */
const now = sql`(extract(epoch from now()) * 1000000)::bigint`
