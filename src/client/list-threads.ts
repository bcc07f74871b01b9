import type { ThreadStatus } from '../protocol/status.js'
import { listThreads } from '../store/threads.js'
import type { ThreadCursor, ThreadRecord } from '../store/threads.js'
import type { ClientContext } from './client-context.js'

const PAGE = 100

type ThreadPage = Awaited<ReturnType<typeof listThreads>>

/** Which threads; nothing said is all. */
export interface ListThreads {
  readonly agent?: string
  readonly status?: ThreadStatus
  readonly userId?: string
  /** Thread id of the parent; null: root threads only. @default all */
  readonly parent?: string | null
  /** Thread id of a root: all threads of its tree, itself too. */
  readonly root?: string
  readonly tag?: string
}

/** A thread in a list, as the store has it. Times are microseconds since 1970. */
export interface ThreadSummary {
  readonly threadId: string
  readonly agent: string
  readonly status: ThreadStatus
  readonly userId: string | null
  /** Thread id of the parent; null for a root thread. */
  readonly parent: string | null
  /** Thread id of the root of its tree; its own id for a root thread. */
  readonly root: string
  readonly title: string | null
  readonly tags: readonly string[]
  readonly createdAt: number
  readonly lastActivityAt: number
}

/** Newest activity first; a page is read when the one before is used up. */
export async function* summarizeThreads(
  context: ClientContext,
  filter: ListThreads,
): AsyncGenerator<ThreadSummary, void, undefined> {
  const store = await context.store()
  let after: ThreadCursor | null = null
  do {
    const cursor: ThreadCursor | null = after
    const page: ThreadPage = await store.read((db) => listThreads(db, { filter, after: cursor, limit: PAGE }))
    yield* page.threads.map(summaryOf)
    after = page.next
  } while (after !== null)
}

function summaryOf(thread: ThreadRecord): ThreadSummary {
  return {
    threadId: thread.id,
    agent: thread.agent,
    status: thread.status,
    userId: thread.user_id,
    parent: thread.parent_thread_id,
    root: thread.root_thread_id,
    title: thread.title,
    tags: thread.tags,
    createdAt: thread.created_at,
    lastActivityAt: thread.last_activity_at,
  }
}
