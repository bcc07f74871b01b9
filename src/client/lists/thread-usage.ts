import type { ThreadUsage } from '../../protocol/status.js'
import { subtreeOf } from '../../store/threads/thread-tree.js'
import { sumThreadUsage } from '../../store/threads/thread-usage.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** The threads whose usage `usage()` sums. */
export interface UsageOptions {
  /** With all threads below it. @default false */
  readonly tree?: boolean
}

/** Sums what a thread has used so far. @throws ThreadNotFoundError */
export async function readUsage(
  context: ClientContext,
  threadId: string,
  { tree = false }: UsageOptions,
): Promise<ThreadUsage> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    const threads = tree ? (await subtreeOf(db, threadId)).map(({ id }) => id) : [threadId]
    return sumThreadUsage(db, threads)
  })
}
