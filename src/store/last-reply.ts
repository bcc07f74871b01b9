import type { Message } from '../protocol/message.js'
import { messageFromRow } from './message-row.js'
import type { Reader } from './store.js'

/** The last visible text or file that a model of the thread made in that run, whichever side it spoke for. */
export async function lastReply(
  db: Reader,
  { threadId, run }: { readonly threadId: string; readonly run: number },
): Promise<Message | null> {
  const row = await db
    .selectFrom('messages')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('position', 'is not', null)
    .where('depth', '=', 0)
    .where('silent', '=', 0)
    .where((where) => where.or([where('content', '<>', ''), where('attachments', '<>', '[]')]))
    // Side B of two agents writes `user`; a person's words have no side.
    .where((where) =>
      where.or([
        where('role', '=', 'assistant'),
        where.and([where('role', '=', 'user'), where('side', 'is not', null)]),
      ]),
    )
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : messageFromRow(row)
}
