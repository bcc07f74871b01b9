import { redactKnownSecrets } from './known-secrets.js'
import type { Reader, Writer } from './store.js'
import type { Micros } from '../protocol/time.js'

export interface ErrorRecord {
  readonly id: string
  readonly threadId: string | null
  readonly at: Micros
  readonly type: string
  readonly message: string
  readonly stack: string | null
}

/**
 * T5: stores the text of an error, without the secrets that this process knows; only the id leaves the store. An existing id
 * is not changed.
 */
export async function recordError(tx: Writer, error: ErrorRecord): Promise<void> {
  await tx
    .insertInto('errors')
    .values({
      id: error.id,
      thread_id: error.threadId,
      at: error.at,
      type: error.type,
      message: redactKnownSecrets(error.message),
      stack: error.stack === null ? null : redactKnownSecrets(error.stack),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export interface ListErrors {
  readonly threadId: string
  readonly limit: number
}

/** The newest errors of a thread, oldest first. */
export async function listErrors(
  db: Reader,
  { threadId, limit }: ListErrors,
): Promise<readonly ErrorRecord[]> {
  const rows = await db
    .selectFrom('errors')
    .selectAll()
    .where('thread_id', '=', threadId)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.toReversed().map(({ thread_id, ...rest }) => ({ ...rest, threadId: thread_id }))
}

export async function findError(db: Reader, id: string): Promise<ErrorRecord | null> {
  const row = await db.selectFrom('errors').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined) return null
  const { thread_id: threadId, ...rest } = row
  return { ...rest, threadId }
}
