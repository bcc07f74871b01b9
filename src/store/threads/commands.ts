/** The commands of callers that were given a key: each is carried out once, and a repeated one gets the same answer. */
import type { Micros } from '../../protocol/time.js'
import type { Reader, Writer } from '../store.js'

interface CommandKey {
  readonly threadId: string
  readonly key: string
}

/** A command that was carried out, or whose announcement to the workflow is to be repeated. */
interface CommandRecord {
  /** Of its name and content: the same key with another digest is refused. */
  readonly digest: string
  /** JSON that the command has made. */
  readonly answer: unknown
}

export async function findCommand(db: Reader, { threadId, key }: CommandKey): Promise<CommandRecord | null> {
  const row = await db
    .selectFrom('commands')
    .select(['digest', 'answer'])
    .where('thread_id', '=', threadId)
    .where('key', '=', key)
    .executeTakeFirst()
  return row === undefined ? null : { digest: row.digest, answer: JSON.parse(row.answer) as unknown }
}

export async function insertCommand(
  tx: Writer,
  { threadId, key, digest, answer, now }: CommandKey & CommandRecord & { readonly now: Micros },
): Promise<void> {
  await tx
    .insertInto('commands')
    .values({ thread_id: threadId, key, digest, answer: JSON.stringify(answer), at: now })
    .execute()
}

/** Forgets a command whose effect was withdrawn, so that it may be repeated. */
export async function deleteCommand(tx: Writer, { threadId, key }: CommandKey): Promise<void> {
  await tx.deleteFrom('commands').where('thread_id', '=', threadId).where('key', '=', key).execute()
}
