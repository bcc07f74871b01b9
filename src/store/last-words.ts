import { LIMITS } from '../protocol/limits.js'
import { CUT_OFF } from '../protocol/message.js'
import type { AttachmentRef } from '../protocol/message.js'
import type { RunKey } from './runs.js'
import type { Reader } from './store.js'

/** Answers that may be pieces of one: a prompt asks for the rest of a cut one a few times at most. */
const MOST_PIECES = 50

export interface Words {
  readonly content: string
  /** The last answer is cut off by its limit of length. */
  readonly isCut: boolean
}

/**
 * What a side said last in a run, to be seen and not inside a tool; null if none said anything. An answer that was cut off and
 * then went on is one with its rest; one of files alone has no words.
 */
export async function lastWords(db: Reader, run: RunKey): Promise<Words | null> {
  const [last, ...before] = await saidInRun(db, run)
    .select(['content', 'finish_reason', 'side'])
    .where((where) => where.or([where('content', '<>', ''), where('attachments', '<>', '[]')]))
    .orderBy('position', 'desc')
    .limit(MOST_PIECES)
    .execute()
  if (last === undefined) return null
  const end = before.findIndex((row) => row.finish_reason !== CUT_OFF || row.side !== last.side)
  const pieces = [...before.slice(0, end === -1 ? before.length : end).toReversed(), last]
  return { content: pieces.map(({ content }) => content).join(''), isCut: last.finish_reason === CUT_OFF }
}

/** Paths of the files that models made in a run, in their order: the newest, as many as one message may have. */
export async function madeInRun(db: Reader, run: RunKey): Promise<readonly string[]> {
  const rows = await saidInRun(db, run)
    .select('attachments')
    .where('sent_by', '=', 'model')
    .where('attachments', '<>', '[]')
    .orderBy('position', 'desc')
    .limit(LIMITS.messageAttachments)
    .execute()
  // Written by `messageToRow`: the store's boundary.
  const files = rows.toReversed().flatMap((row) => JSON.parse(row.attachments) as readonly AttachmentRef[])
  return [...new Set(files.map(({ path }) => path))].slice(-LIMITS.messageAttachments)
}

function saidInRun(db: Reader, { threadId, number }: RunKey) {
  return (
    db
      .selectFrom('messages')
      .where('thread_id', '=', threadId)
      .where('run', '=', number)
      .where('depth', '=', 0)
      .where('role', 'in', ['user', 'assistant'])
      // What comes from outside has none.
      .where('side', 'is not', null)
      .where('silent', '=', 0)
      .where('status', '=', 'completed')
  )
}
