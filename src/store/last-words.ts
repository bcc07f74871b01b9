import { CUT_OFF } from '../protocol/message.js'
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
 * then went on is one with its rest.
 */
export async function lastWords(db: Reader, { threadId, number }: RunKey): Promise<Words | null> {
  const [last, ...before] = await db
    .selectFrom('messages')
    .select(['content', 'finish_reason', 'side'])
    .where('thread_id', '=', threadId)
    .where('run', '=', number)
    .where('depth', '=', 0)
    .where('role', 'in', ['user', 'assistant'])
    // What comes from outside has none.
    .where('side', 'is not', null)
    .where('silent', '=', 0)
    .where('status', '=', 'completed')
    .where('content', '<>', '')
    .orderBy('position', 'desc')
    .limit(MOST_PIECES)
    .execute()
  if (last === undefined) return null
  const end = before.findIndex((row) => row.finish_reason !== CUT_OFF || row.side !== last.side)
  const pieces = [...before.slice(0, end === -1 ? before.length : end).toReversed(), last]
  return { content: pieces.map(({ content }) => content).join(''), isCut: last.finish_reason === CUT_OFF }
}
