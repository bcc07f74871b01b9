import { closeOpenCalls } from '../close-open-calls.js'
import { unpackEvents } from '../event-rows.js'
import { appendEvents } from '../events.js'
import type { NewEvent } from '../events.js'
import { endOpenRuns } from '../runs.js'
import type { Reader, Writer } from '../store.js'
import { findThread } from '../threads.js'

interface CutRun {
  readonly threadId: string
  /** Of the last event, before Temporal was asked: anything since then says that somebody is at work. */
  readonly sequence: number
  /** Microseconds. */
  readonly now: number
}

/**
 * Ends what was in flight in a thread that was lost: open calls get a result, so that its transcript stays valid for a
 * provider, and no worker that comes late can commit (T4). `busy`: the thread changed meanwhile, and nothing was done.
 */
export async function cutRun(
  tx: Writer,
  { threadId, sequence, now }: CutRun,
): Promise<'cut' | 'idle' | 'busy'> {
  const thread = await findThread(tx, threadId)
  if (thread?.last_sequence !== sequence) return 'busy'
  // It runs at least once, and counts once: nothing of it is there, so it is done from its beginning.
  await tx
    .deleteFrom('operations')
    .where('thread_id', '=', threadId)
    .where('kind', '=', 'effect')
    .where('state', '!=', 'finished')
    .execute()
  await closeOpenCalls(tx, { threadId, outcome: 'interrupted', now })
  const runs = await endOpenRuns(tx, { threadId, reason: 'lost', outcome: 'failed', now })
  const events = [...runs, ...(await reopenedFact(tx, threadId))]
  await appendEvents(tx, { threadId, events, now })
  return runs.length === 0 ? 'idle' : 'cut'
}

/** Of several that reopen it at once, one says so. */
async function reopenedFact(db: Reader, threadId: string): Promise<readonly NewEvent[]> {
  const last = await db
    .selectFrom('events')
    .select(['first_sequence', 'sequence', 'scope', 'events'])
    .where('thread_id', '=', threadId)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst()
  const type = last && unpackEvents(last).at(-1)?.type
  return type === 'thread.reopened' ? [] : [{ type: 'thread.reopened', payload: {} }]
}
