import type { Reader } from './store.js'

export interface ThreadProgress {
  readonly lastSequence: number
  readonly closed: boolean
}

/** How far a thread is: cheap, for those who look at each change of the store. Null if there is no such thread. */
export async function threadProgress(db: Reader, threadId: string): Promise<ThreadProgress | null> {
  const thread = await db
    .selectFrom('threads')
    .select(['last_sequence', 'closed_at'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (thread === undefined) return null
  return { lastSequence: thread.last_sequence, closed: thread.closed_at !== null }
}
